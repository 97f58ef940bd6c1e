// The machine: which channels are switched on, and what they take of the links.

const machine = { host: 0, graph: 0, on: new Set() };
const hostFacts = () => facts.hosts[machine.host];
const graphFacts = () => hostFacts().graphs[machine.graph];
const drawing = () => document.querySelector('.machine[data-host="' + machine.host + '"] svg');
const nodeLabel = (node) => hostFacts().nodes[node].label;

// By link and lane: the sum, and by which channels.
function takenByChannels() {
  const taken = hostFacts().links.map(() => [{ sum: 0, channels: [] }, { sum: 0, channels: [] }]);
  if (!graphFacts()) return taken;
  for (const channel of machine.on) {
    for (const leg of graphFacts().channels[channel]) {
      for (const [link, lane, amount] of leg.takes) {
        taken[link][lane].sum += amount;
        if (!taken[link][lane].channels.includes(channel)) taken[link][lane].channels.push(channel);
      }
    }
  }
  return taken;
}

// As useLevel() of insight/report/machine_drawing.h.
function level(used, bandwidth) {
  if (used <= 0 || bandwidth <= 0) return 0;
  const part = used / bandwidth;
  return part <= 0.25 ? 1 : part <= 0.5 ? 2 : part <= 0.75 ? 3 : part < 0.97 ? 4 : 5;
}

const linkLabel = (link) => link.type + ' between ' + nodeLabel(link.a) + ' and ' + nodeLabel(link.b);

function laneWords(link, lane, taken) {
  const [from, to] = lane === 0 ? [link.a, link.b] : [link.b, link.a];
  const way = nodeLabel(from) + ' → ' + nodeLabel(to) + ': ';
  if (link.bandwidth[lane] <= 0) return way + 'no link';
  const words = way + shown(link.bandwidth[lane]) + ' GB/s, ';
  if (taken.sum <= 0) return words + 'nothing taken';
  return words + shown(taken.sum) + ' taken (' + percent(taken.sum / link.bandwidth[lane]) + ') by channel' +
    (taken.channels.length > 1 ? 's ' : ' ') + listWords([...taken.channels].sort((a, b) => a - b));
}

function showUse() {
  const taken = takenByChannels();
  machine.taken = taken;
  for (const group of drawing().querySelectorAll('.link')) {
    const number = Number(group.dataset.link);
    const link = hostFacts().links[number];
    for (const path of group.querySelectorAll('.lane')) {
      const lane = Number(path.dataset.lane);
      path.setAttribute('class', 'lane u' + level(taken[number][lane].sum, link.bandwidth[lane]));
    }
    const words = linkLabel(link) + '. ' + [0, 1].map((lane) => laneWords(link, lane, taken[number][lane])).join('. ');
    group.setAttribute('aria-label', words);
    group.querySelector('title').textContent = words;
    const text = group.querySelector('.bw');
    const most = Math.max(taken[number][0].sum, taken[number][1].sum);
    if (text) text.textContent = (most > 0 ? shown(most) + '/' : '') + shown(Math.max(...link.bandwidth));
  }
}

// Where a further channel of this graph would have to pass: [link, lane, GB/s left, GB/s wanted].
const fullLanes = () => (graphFacts() ? graphFacts().full : []);

function fullWords([number, lane, left, wanted]) {
  const link = hostFacts().links[number];
  const [from, to] = lane === 0 ? [link.a, link.b] : [link.b, link.a];
  return 'No room for a further channel from ' + nodeLabel(from) + ' to ' + nodeLabel(to) + ': with all of them on, ' + shown(left) +
    ' of ' + shown(link.bandwidth[lane]) + ' GB/s are left, and it would want ' + shown(wanted) + '.';
}

function listFull() {
  const full = fullLanes();
  byId('full').hidden = full.length === 0;
  byId('full-title').textContent = (full.length === 1 ? 'One link has' : full.length + ' links have') + ' no room for a further channel';
  byId('full-list').replaceChildren(...full.map((one) => html('li', {}, fullWords(one))));
}

function tellLink(number) {
  const link = hostFacts().links[number];
  byId('machine-detail').replaceChildren(
    html('p', {}, html('strong', {}, linkLabel(link))),
    ...[0, 1].map((lane) => html('p', {}, laneWords(link, lane, machine.taken[number][lane]))),
    ...fullLanes().filter((one) => one[0] === number).map((one) => html('p', {}, fullWords(one))),
    html('p', { class: 'source' }, link.source));
}

function tellNode(number) {
  const node = hostFacts().nodes[number];
  byId('machine-detail').replaceChildren(
    html('p', {}, html('strong', {}, node.label), node.detail ? ': ' + node.detail : ''),
    html('p', {}, node.elsewhere ? 'Another of the nodes that NCCL makes of this host uses it: choose that one above.' :
      node.used ? 'The job uses it, or passes through it.' : 'This job does not use it.'),
    html('p', { class: 'source' }, node.source));
}

function chooseChannels(channels) {
  machine.on = new Set(channels);
  for (const button of byId('channels').children)
    button.setAttribute('aria-pressed', machine.on.has(Number(button.dataset.channel)) ? 'true' : 'false');
  showUse();
}

function chooseGraph(number) {
  machine.graph = number;
  stopFollowing();
  const graph = graphFacts();
  for (const button of byId('graphs').children)
    button.setAttribute('aria-pressed', Number(button.dataset.graph) === number ? 'true' : 'false');
  const channels = graph ? graph.channels.map((_, i) => i) : [];
  byId('channels').replaceChildren(...channels.map((channel) =>
    html('button', {
      type: 'button', 'data-channel': channel, 'aria-pressed': 'true', 'aria-label': 'Channel ' + channel,
      onclick: () => {
        const on = new Set(machine.on);
        if (!on.delete(channel)) on.add(channel);
        chooseChannels(on);
      },
    }, String(channel))));
  byId('follow').replaceChildren(html('option', { value: '-1' }, 'none'),
    ...channels.map((channel) => html('option', { value: channel }, String(channel))));
  byId('graph-words').textContent = graph ? graphWords(graph) : 'No channels were computed for this host.';
  listFull();
  chooseChannels(channels);
}

function graphWords(graph) {
  const nets = hostFacts().nodes.some((node) => node.type === 'NET' && node.used);
  return graph.channels.length + ' channel' + (graph.channels.length === 1 ? '' : 's') + ' of pattern ' + graph.pattern +
    ' with ' + shown(graph.bwIntra) + ' GB/s each over paths no farther than ' + graph.typeIntra +
    (nets ? ', ' + shown(graph.bwInter) + ' GB/s to NETs no farther than ' + graph.typeInter : '; one host, so no NET is used') +
    (graph.fallback ? '. The search found nothing: GPUs in simple order' : '') + '.';
}

function chooseHost(number) {
  machine.host = number;
  for (const one of document.querySelectorAll('.machine')) one.hidden = Number(one.dataset.host) !== number;
  byId('graphs').replaceChildren(...hostFacts().graphs.map((graph, i) =>
    html('button', { type: 'button', 'data-graph': i, onclick: () => chooseGraph(i) }, graph.name)));
  chooseGraph(0);
  showMatrix();
}

function startMachine() {
  byId('host-choice').hidden = facts.hosts.length < 2;
  byId('host').replaceChildren(...facts.hosts.map((host, i) => html('option', { value: i }, host.title)));
  byId('host').addEventListener('change', () => chooseHost(Number(byId('host').value)));
  byId('all-channels').addEventListener('click', () => chooseChannels(graphFacts() ? graphFacts().channels.keys() : []));
  byId('no-channels').addEventListener('click', () => chooseChannels([]));
  for (const one of document.querySelectorAll('.machine')) {
    roving([...one.querySelectorAll('.node, .link')], 1);
    for (const kind of ['mouseover', 'focusin', 'click'])
      one.addEventListener(kind, (event) => {
        const target = event.target.closest('.link, .node');
        if (!target || machine.playing) return;
        target.classList.contains('link') ? tellLink(Number(target.dataset.link)) : tellNode(Number(target.dataset.node));
      });
    for (const node of one.querySelectorAll('.node')) node.setAttribute('aria-label', node.querySelector('title').textContent);
  }
}
