// Following one channel, leg by leg.

const follow = { channel: -1, step: 0, timer: null };
const legs = () => graphFacts().channels[follow.channel];

function legWords(leg) {
  const via = leg.hops.map(([link, lane]) => nodeLabel(lane === 0 ? hostFacts().links[link].b : hostFacts().links[link].a));
  via.pop();
  return nodeLabel(leg.from) + ' → ' + nodeLabel(leg.to) + ': ' + shown(leg.carries) + ' GB/s over a path of type ' + leg.type +
    ' with ' + shown(leg.bandwidth) + ' GB/s' + (via.length > 0 ? ', through ' + via.join(', ') : '');
}

function stopPlaying() {
  clearInterval(follow.timer);
  follow.timer = null;
  machine.playing = false;
  byId('play').setAttribute('aria-pressed', 'false');
  byId('play').textContent = 'Play';
}

function stopFollowing() {
  stopPlaying();
  follow.channel = -1;
  byId('follow').value = '-1';
  for (const one of document.querySelectorAll('.xylem-machine')) one.classList.remove('following');
  for (const one of document.querySelectorAll('.hop, .passed, .end')) one.classList.remove('hop', 'passed', 'end');
  byId('steps').hidden = true;
  showFollowButtons();
}

function showFollowButtons() {
  const on = follow.channel >= 0;
  byId('step-back').disabled = !on || follow.step === 0;
  byId('step-on').disabled = !graphFacts() || (on && follow.step + 1 >= legs().length);
  byId('play').disabled = !graphFacts() || graphFacts().channels.length === 0;
}

function goTo(step) {
  follow.step = step;
  const root = drawing();
  for (const one of root.querySelectorAll('.hop, .passed, .end')) one.classList.remove('hop', 'passed', 'end');
  legs().slice(0, step + 1).forEach((leg, i) => {
    for (const [link, lane] of leg.hops) {
      const path = root.querySelector('[data-link="' + link + '"] [data-lane="' + lane + '"]');
      if (path) path.classList.add(i === step ? 'hop' : 'passed');
    }
  });
  for (const end of [legs()[step].from, legs()[step].to]) root.querySelector('[data-node="' + end + '"]').classList.add('end');
  [...byId('steps').children].forEach((item, i) => {
    if (i === step) item.firstChild.setAttribute('aria-current', 'step');
    else item.firstChild.removeAttribute('aria-current');
  });
  byId('machine-detail').replaceChildren(
    html('p', {}, html('strong', {}, 'Channel ' + follow.channel + ', step ' + (step + 1) + ' of ' + legs().length)),
    html('p', {}, legWords(legs()[step])));
  showFollowButtons();
}

function followChannel(channel) {
  stopFollowing();
  if (channel < 0 || graphFacts().channels[channel].length === 0) return;
  follow.channel = channel;
  byId('follow').value = String(channel);
  chooseChannels([channel]);
  drawing().classList.add('following');
  byId('steps').replaceChildren(...legs().map((leg, i) =>
    html('li', {}, html('button', { type: 'button', onclick: () => { stopPlaying(); goTo(i); } }, legWords(leg)))));
  byId('steps').hidden = false;
  goTo(0);
}

function step(by) {
  if (follow.channel < 0) return followChannel(0);
  const next = follow.step + by;
  if (next >= 0 && next < legs().length) goTo(next);
}

function play() {
  if (follow.timer) return stopPlaying();
  if (follow.channel < 0) followChannel(0);
  if (follow.channel < 0) return;
  machine.playing = true;
  byId('play').setAttribute('aria-pressed', 'true');
  byId('play').textContent = 'Pause';
  follow.timer = setInterval(() => goTo((follow.step + 1) % legs().length), 900);
}

function startFollow() {
  byId('follow').addEventListener('change', () => {
    const channel = Number(byId('follow').value);
    followChannel(channel);
    if (channel < 0) chooseChannels(graphFacts().channels.keys());
  });
  byId('step-on').addEventListener('click', () => { stopPlaying(); step(1); });
  byId('step-back').addEventListener('click', () => { stopPlaying(); step(-1); });
  byId('play').addEventListener('click', play);
}
