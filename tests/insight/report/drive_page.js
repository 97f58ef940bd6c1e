// Uses the page as a person would, by pointer and by keyboard, and writes what does not do as it should to #checked.
// browser_test.cc puts it at the end of a page, behind what collects errors in `problems`.

function check(what, holds) {
  if (!holds) problems.push('not so: ' + what);
}

const one = (selector) => document.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];
const press = (element, key) =>
  element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
const change = (element, value) => {
  element.value = value;
  element.dispatchEvent(new Event('input', { bubbles: true }));
  element.dispatchEvent(new Event('change', { bubbles: true }));
};
const text = (selector) => one(selector).textContent;
const visible = () => one('.machine:not([hidden]) svg');
const levels = () => [...visible().querySelectorAll('.lane')].map((lane) => lane.getAttribute('class')).join();

function driveMachine() {
  const full = levels();
  const graph = facts.hosts[0].graphs[0];
  check('channels take something of links', /u[1-5]/.test(full));
  graph.used.forEach((lanes, link) => lanes.forEach((used, lane) =>
    check('sums of channels are the facts', Math.abs(used - machine.taken[link][lane].sum) < 0.01)));
  one('#no-channels').click();
  check('no channel, no use', !/u[1-5]/.test(levels()));
  check('buttons tell', all('#channels [aria-pressed="true"]').length === 0);
  one('#channels button').click();
  check('one channel on', all('#channels [aria-pressed="true"]').length === 1 && /u[1-5]/.test(levels()));
  one('#all-channels').click();
  check('all on again', levels() === full);
  all('#graphs button').forEach((button) => {
    button.click();
    const stopped = facts.hosts[0].graphs[Number(button.dataset.graph)].full.length;
    check('links without room', one('#full').hidden === (stopped === 0) && all('#full-list li').length === stopped);
    check('graph ' + button.textContent, button.getAttribute('aria-pressed') === 'true' && text('#graph-words').includes('GB/s'));
  });
  all('#graphs button')[0].click();

  const link = visible().querySelector('.link');
  link.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
  check('pointing at a link tells', text('#machine-detail').includes('GB/s') && text('#machine-detail').includes('.xml:'));
  check('a link has words for readers', link.getAttribute('aria-label').includes('GB/s'));
  const stops = [...visible().querySelectorAll('.node, .link')];
  check('one stop for Tab', stops.filter((stop) => stop.getAttribute('tabindex') === '0').length === 1);
  stops[0].focus();
  press(stops[0], 'ArrowRight');
  check('arrows move', document.activeElement === stops[1]);
  press(stops[1], 'ArrowLeft');
  check('and back', document.activeElement === stops[0]);
  const node = visible().querySelector('.node');
  node.focus();
  check('focus on a box tells', text('#machine-detail').includes(facts.hosts[0].nodes[0].label));
}

function driveFollow() {
  one('#step-on').click();
  const legs = facts.hosts[0].graphs[0].channels[0].length;
  check('following has steps', all('#steps li').length === legs && !one('#steps').hidden);
  check('and the first is shown', text('#machine-detail').includes('step 1 of ' + legs));
  check('hops stand out', visible().querySelectorAll('.hop').length > 0);
  check('two ends', visible().querySelectorAll('.end').length === 2);
  for (let i = 1; i < legs; ++i) one('#step-on').click();
  check('to the last step', text('#machine-detail').includes('step ' + legs + ' of ' + legs) && one('#step-on').disabled);
  if (legs > 1) one('#step-back').click();
  if (legs > 1) check('and back', text('#machine-detail').includes('step ' + (legs - 1) + ' of '));
  all('#steps button')[0].click();
  check('a step of the list', one('#steps [aria-current="step"]') === all('#steps button')[0]);
  one('#play').click();
  check('playing', one('#play').getAttribute('aria-pressed') === 'true');
}

function endFollow() {
  check('play goes on by itself', one('#steps [aria-current="step"]') !== all('#steps button')[0] || all('#steps li').length === 1);
  one('#play').click();
  check('pause', one('#play').getAttribute('aria-pressed') === 'false');
  change(one('#follow'), '-1');
  check('following ends', one('#steps').hidden && visible().querySelectorAll('.hop').length === 0);
  check('all channels again', all('#channels [aria-pressed="true"]').length === facts.hosts[0].graphs[0].channels.length);
}

function driveReach() {
  const cells = all('#matrix td > div');
  const reach = facts.hosts[0].reach;
  check('a cell per pair', cells.length === reach.rows.length * (reach.columns.length - 1));
  for (const cell of cells) {
    cell.focus();
    check('a cell has reasons', text('#reach-detail').includes('GPU') && one('#reach-detail li') !== null);
  }
  if (cells.length < 2) return;
  cells[0].focus();
  press(cells[0], 'ArrowRight');
  check('arrows move in the table', document.activeElement === cells[1]);
}

function driveJob() {
  const ranks = facts.job.ranks;
  for (const way of ['ring', 'tree']) {
    one('input[name="way"][value="' + way + '"]').click();
    const options = all('#job-channels option');
    check(way + ' choices', options.length === facts.job[way + 's'].length);
    for (const option of options) {
      change(one('#job-channels'), option.value);
      check('the choice stays', one('#job-channels').value === option.value);
      if (way === 'ring') check('all ranks in the ring', all('.rank').length === ranks);
      else check('all nodes in the tree', all('.tree rect').length === facts.job.nodes);
    }
  }
}

function driveTuning() {
  for (const button of all('#collectives button')) {
    button.click();
    check(button.textContent, button.getAttribute('aria-pressed') === 'true');
    if (facts.job.ranks > 1) check('curves', all('#time-chart .chosen').length > 0 && all('#bus-chart .curve').length > 0);
    check('stretches', all('#stretches tbody tr').length === facts.tuning[Number(button.dataset.collective)].stretches.length);
  }
  all('#collectives button')[0].click();
  for (const size of [0, facts.sizes.length - 1]) {
    change(one('#size'), String(size));
    check('the slider chooses the size', text('#size-words') === sizeWords(facts.sizes[size]));
    if (facts.job.ranks > 1) check('the fastest is marked', one('#at-size tbody tr').className === 'best');
  }
  const chart = one('#time-chart svg');
  if (chart === null) return;
  const box = chart.getBoundingClientRect();
  chart.dispatchEvent(new PointerEvent('pointermove', { clientX: box.left + box.width / 2, clientY: box.top + 20 }));
  check('pointing at a chart chooses the size', one('#size').value !== String(facts.sizes.length - 1));
}

function driveRest() {
  one('#open-answers').click();
  check('answers open', all('#answer-list details').every((answer) => answer.open));
  check('answers say why', all('#answer-list .step').length > 0);
  check('answers are words and tables', !text('#answers').includes('[object '));
  one('#close-answers').click();
  check('answers close', all('#answer-list details').every((answer) => !answer.open));
  check('the part on what is possible', one('#optimality').hidden === (facts.optimality.length === 0));
  if (facts.hosts.length > 1) {
    change(one('#host'), '1');
    check('the other host', one('.machine[data-host="0"]').hidden && !one('.machine[data-host="1"]').hidden);
    check('its matrix', all('#matrix tbody tr').length === facts.hosts[1].reach.rows.length);
  }
  for (const control of all('button, select, input'))
    check('a name for ' + control.id, control.textContent.trim() !== '' || control.hasAttribute('aria-label') || control.labels.length > 0);
  check('nothing of the file ran', window.hacked === undefined && all('img').length === 0);
}

driveMachine();
driveFollow();
setTimeout(() => {
  endFollow();
  driveReach();
  driveJob();
  driveTuning();
  driveRest();
  const result = document.createElement('pre');
  result.id = 'checked';
  result.textContent = problems.length === 0 ? 'all is well' : problems.join('; ');
  document.body.append(result);
}, 1500);
