// The rings and trees of the whole job, over its nodes.

const chips = (ranks) => html('span', { class: 'ranks' }, ranks.map((rank) => html('span', { class: 'rank' }, String(rank))));

// The ranks of a ring as runs on one node each.
function runsOf(ranks) {
  const runs = [];
  for (const rank of ranks) {
    const node = facts.job.nodeOfRank[rank];
    if (runs.length === 0 || runs[runs.length - 1].node !== node) runs.push({ node, ranks: [] });
    runs[runs.length - 1].ranks.push(rank);
  }
  return runs;
}

const channelWords = (channels) => 'Channel' + (channels.length > 1 ? 's ' : ' ') + listWords(channels);
const netEnd = (net, gdr) => (net || 'no NIC') + (gdr ? ', GDR' : '');

function drawRing(number) {
  const ring = facts.job.rings[number];
  const runs = runsOf(ring.ranks);
  const items = [];
  runs.forEach((run, i) => {
    items.push(html('li', { class: 'node-box' }, html('b', {}, 'node ' + run.node), chips(run.ranks)));
    const from = run.ranks[run.ranks.length - 1];
    const crossing = facts.job.crossings.find((one) => one.ring === number && one.from === from);
    const arrow = i + 1 < runs.length ? '→' : '↺';
    items.push(html('li', { class: 'crossing' }, html('strong', {}, arrow),
      crossing && crossing.way !== 'NET' ? ['within a host: ' + crossing.way] :
      crossing ? [netEnd(crossing.fromNet, crossing.fromGdr), html('br'), 'to ' + netEnd(crossing.toNet, crossing.toGdr)]
               : 'back to ' + ring.ranks[0],
      crossing && i + 1 === runs.length ? [html('br'), 'back to ' + crossing.to] : null));
  });
  byId('job-drawing').replaceChildren(html('ol', { class: 'ring' }, items));
  byId('job-words').textContent = channelWords(ring.channels) + ': data goes round from rank to rank, in the order shown' +
    (runs.length > 1 ? '; between nodes through the NICs that channel ' + ring.channels[0] + ' uses.' : '.');
}

// In a node ranks form a chain; between nodes, one of its ranks sends to the parent node.
function treeNodes(tree) {
  const nodes = new Map();
  tree.up.forEach((up, rank) => {
    const node = facts.job.nodeOfRank[rank];
    if (!nodes.has(node)) nodes.set(node, { node, ranks: [], parent: null, from: rank, to: -1, depth: 0 });
    const entry = nodes.get(node);
    entry.ranks.push(rank);
    if (up < 0 || facts.job.nodeOfRank[up] !== node) {
      entry.from = rank;
      entry.to = up;
      entry.parent = up < 0 ? null : facts.job.nodeOfRank[up];
    }
  });
  for (const entry of nodes.values()) {
    entry.ranks.sort((a, b) => tree.depth[a] - tree.depth[b] || a - b);
    for (let at = entry; at.parent !== null; at = nodes.get(at.parent)) ++entry.depth;
  }
  return nodes;
}

function drawTree(number) {
  const tree = facts.job.trees[number];
  const nodes = treeNodes(tree);
  const perLine = 8, gap = 26, rowHeight = 116;
  const widest = Math.max(...[...nodes.values()].map((entry) => Math.min(entry.ranks.length, perLine)));
  const longest = String(facts.job.ranks - 1).length;
  const width = Math.max(widest * (longest * 7 + 20) + 12, 90);
  const lines = Math.max(...[...nodes.values()].map((entry) => Math.ceil(entry.ranks.length / perLine)));
  const height = 22 + lines * 18 + 6;
  const order = [...nodes.keys()].sort((a, b) => a - b);
  const x = (entry) => 10 + order.indexOf(entry.node) * (width + gap);
  const y = (entry) => 10 + entry.depth * (rowHeight - 50 + height);
  const deepest = Math.max(...[...nodes.values()].map((entry) => entry.depth));
  const picture = svg('svg', { class: 'tree', width: 20 + order.length * (width + gap), height: 30 + (deepest + 1) * (rowHeight - 50 + height) - 50,
    role: 'img', 'aria-label': 'Tree over ' + order.length + ' nodes' });
  for (const entry of nodes.values()) {
    if (entry.parent === null) continue;
    const parent = nodes.get(entry.parent);
    const x1 = x(entry) + width / 2, y1 = y(entry), x2 = x(parent) + width / 2, y2 = y(parent) + height;
    picture.append(svg('path', { d: 'M' + x1 + ' ' + y1 + 'C' + x1 + ' ' + (y1 - 30) + ' ' + x2 + ' ' + (y2 + 30) + ' ' + x2 + ' ' + y2 }),
      svg('text', { class: 'edge-text', x: x1, y: y1 - 12 }, entry.from + ' → ' + entry.to));
  }
  for (const entry of nodes.values()) {
    picture.append(svg('rect', { x: x(entry), y: y(entry), width, height, rx: 8 }),
      svg('text', { class: 'quiet', x: x(entry) + width / 2, y: y(entry) + 15 }, 'node ' + entry.node + (entry.parent === null ? ', root' : '')));
    for (let i = 0; i < entry.ranks.length; i += perLine)
      picture.append(svg('text', { x: x(entry) + width / 2, y: y(entry) + 33 + (i / perLine) * 18 },
        entry.ranks.slice(i, i + perLine).join(treeIsChain(tree, entry) ? ' ← ' : '   ')));
  }
  byId('job-drawing').replaceChildren(picture);
  byId('job-words').textContent = channelWords(tree.channels) + ': sums go up to the root, results down again; inside a node along the chain, its first rank nearest to the root' +
    (order.length > 1 ? '. The numbers on a line are the ranks that talk to each other.' : '.');
}

const treeIsChain = (tree, entry) => entry.ranks.every((rank, i) => i === 0 || tree.up[rank] === entry.ranks[i - 1]);

function showJob() {
  const ring = document.querySelector('input[name="way"]:checked').value === 'ring';
  const list = ring ? facts.job.rings : facts.job.trees;
  const chosen = Math.min(Number(byId('job-channels').value) || 0, list.length - 1);
  byId('job-channels').replaceChildren(...list.map((one, i) =>
    html('option', { value: i, selected: i === chosen }, channelWords(one.channels))));
  if (list.length === 0) return;
  ring ? drawRing(chosen) : drawTree(chosen);
}

function startJob() {
  if (facts.job.leftOut) {
    byId('job').querySelector('.controls').hidden = true;
    byId('job-words').textContent = 'The job has ' + facts.job.ranks + ' ranks, too many to draw; xylem plan --rank tells about each.';
    return;
  }
  byId('job-channels').addEventListener('change', showJob);
  for (const input of document.querySelectorAll('input[name="way"]'))
    input.addEventListener('change', () => { byId('job-channels').value = '0'; showJob(); });
  showJob();
}
