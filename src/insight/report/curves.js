// Time and bus bandwidth of every algorithm and protocol over sizes, and which one is chosen.

const tuning = { collective: 0, size: 0 };
const chart = { width: 620, height: 330, left: 56, right: 24, top: 14, bottom: 30 };
const tuningFacts = () => facts.tuning[tuning.collective];
const lowest = () => facts.sizes[0];
const highest = () => facts.sizes[facts.sizes.length - 1];

const xOf = (bytes) => chart.left +
  (Math.log2(Math.max(bytes, lowest())) - Math.log2(lowest())) / (Math.log2(highest()) - Math.log2(lowest())) *
  (chart.width - chart.left - chart.right);

function yScale(values, logarithmic) {
  const inner = chart.height - chart.top - chart.bottom;
  if (logarithmic) {
    const low = Math.floor(Math.log10(Math.min(...values))), high = Math.max(Math.ceil(Math.log10(Math.max(...values))), low + 1);
    const ticks = [];
    for (let power = low; power <= high; ++power) ticks.push(Math.pow(10, power));
    return { ticks, y: (v) => chart.top + inner * (1 - (Math.log10(v) - low) / (high - low)) };
  }
  const most = Math.max(...values, 0.001);
  const rough = most / 5, unit = Math.pow(10, Math.floor(Math.log10(rough)));
  const tick = [1, 2, 5, 10].map((factor) => factor * unit).find((one) => one >= rough);
  const ticks = [];
  for (let i = 0; i * tick < most + tick; ++i) ticks.push(i * tick);
  return { ticks, y: (v) => chart.top + inner * (1 - v / ticks[ticks.length - 1]) };
}

const tickWords = (us) => (us < 1e3 ? us + ' µs' : us < 1e6 ? us / 1e3 + ' ms' : us / 1e6 + ' s');

// The chosen curve between the bounds of a stretch.
function chosenAt(i) {
  const stretch = tuningFacts().stretches.find((one) => facts.sizes[i] >= one.first && facts.sizes[i] <= one.last);
  return stretch ? stretch.curve : -1;
}

function pathOf(values, y, wanted) {
  let path = '', pen = false;
  values.forEach((value, i) => {
    const draw = value > 0 && wanted(i);
    if (draw) path += (pen ? 'L' : 'M') + xOf(facts.sizes[i]).toFixed(1) + ' ' + y(value).toFixed(1);
    pen = draw;
  });
  return path;
}

function drawChart(id, what, logarithmic, words, label) {
  const curves = tuningFacts().curves;
  const values = curves.flatMap((curve) => curve[what]).filter((value) => value > 0);
  if (values.length === 0) {
    byId(id).replaceChildren(html('p', { class: 'note' }, 'Nothing runs it, or it takes no time.'));
    return;
  }
  const { ticks, y } = yScale(values, logarithmic);
  const picture = svg('svg', { class: 'chart', viewBox: '0 0 ' + chart.width + ' ' + chart.height, role: 'img', 'aria-label': label });
  for (const tick of ticks)
    picture.append(svg('path', { class: 'grid', d: 'M' + chart.left + ' ' + y(tick).toFixed(1) + 'H' + (chart.width - chart.right) }),
      svg('text', { x: chart.left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, words(tick)));
  for (let bytes = 8; bytes <= highest(); bytes *= 64)
    picture.append(svg('path', { class: 'grid', d: 'M' + xOf(bytes).toFixed(1) + ' ' + chart.top + 'V' + (chart.height - chart.bottom) }),
      svg('text', { x: xOf(bytes), y: chart.height - 10, 'text-anchor': 'middle' }, sizeWords(bytes)));
  for (const stretch of tuningFacts().stretches.slice(1))
    if (stretch.first > lowest() && stretch.first < highest())
      picture.append(svg('path', { class: 'cross', d: 'M' + xOf(stretch.first).toFixed(1) + ' ' + chart.top + 'V' + (chart.height - chart.bottom) },
        svg('title', {}, 'from ' + sizeWords(stretch.first) + ' on: ' + (stretch.curve < 0 ? 'nothing' : curves[stretch.curve].name))));
  curves.forEach((curve, number) => {
    picture.append(svg('path', { class: 'curve c' + (number % 10), d: pathOf(curve[what], y, () => true) }, svg('title', {}, curve.name)));
    const chosen = pathOf(curve[what], y, (i) => chosenAt(i) === number || (i > 0 && chosenAt(i - 1) === number));
    if (chosen) picture.append(svg('path', { class: 'chosen c' + (number % 10), d: chosen }, svg('title', {}, curve.name + ', chosen')));
  });
  picture.append(svg('path', { class: 'at', d: 'M' + xOf(facts.sizes[tuning.size]).toFixed(1) + ' ' + chart.top + 'V' + (chart.height - chart.bottom) }));
  picture.addEventListener('pointermove', (event) => {
    const box = picture.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * chart.width;
    let nearest = 0;
    facts.sizes.forEach((bytes, i) => { if (Math.abs(xOf(bytes) - x) < Math.abs(xOf(facts.sizes[nearest]) - x)) nearest = i; });
    if (nearest !== tuning.size) chooseSize(nearest);
  });
  byId(id).replaceChildren(picture);
}

function chooseSize(number) {
  tuning.size = number;
  byId('size').value = String(number);
  const bytes = facts.sizes[number];
  byId('size-words').textContent = sizeWords(bytes);
  byId('size').setAttribute('aria-valuetext', sizeWords(bytes));
  byId('at-size-title').textContent = tuningFacts().collective + ' of ' + sizeWords(bytes);
  for (const line of document.querySelectorAll('.chart .at'))
    line.setAttribute('d', 'M' + xOf(bytes).toFixed(1) + ' ' + chart.top + 'V' + (chart.height - chart.bottom));
  const rows = tuningFacts().curves.map((curve, i) => ({ i, name: curve.name, time: curve.time[number], bus: curve.bus[number] }))
    .filter((row) => row.time > 0).sort((a, b) => a.time - b.time);
  byId('at-size').replaceChildren(...table(['', '#time', '#bus GB/s', '#factor'], rows.map((row) => ({
    mark: row.i === chosenAt(number) ? 'best' : null,
    cells: [row.name, timeWords(row.time), row.bus.toFixed(2), (row.time / rows[0].time).toFixed(2)] }))));
}

function chooseCollective(number) {
  tuning.collective = number;
  const now = tuningFacts();
  for (const button of byId('collectives').children)
    button.setAttribute('aria-pressed', Number(button.dataset.collective) === number ? 'true' : 'false');
  byId('curve-names').replaceChildren(...now.curves.map((curve, i) => html('li', { class: 'c' + (i % 10) }, curve.name)));
  byId('time-title').textContent = 'Predicted time of ' + now.collective;
  byId('bus-title').textContent = 'Bus bandwidth of ' + now.collective + ', GB/s';
  drawChart('time-chart', 'time', true, tickWords, 'Predicted time of ' + now.collective + ' by size, logarithmic');
  drawChart('bus-chart', 'bus', false, shown, 'Bus bandwidth of ' + now.collective + ' by size');
  byId('stretches').replaceChildren(...table(['sizes', 'chosen', '#channels', '#time'], now.stretches.map((one, i) => [
    i + 1 === now.stretches.length ? 'from ' + sizeWords(one.first) : (i === 0 ? 'up to ' : sizeWords(one.first) + ' to ') + sizeWords(one.last),
    one.curve < 0 ? 'nothing can run it' : now.curves[one.curve].name,
    one.channels[0] === one.channels[1] ? String(one.channels[0]) : one.channels.join('–'),
    one.curve < 0 ? '' : i + 1 === now.stretches.length ? 'from ' + timeWords(one.firstTime) : timeWords(one.firstTime) + ' to ' + timeWords(one.lastTime)])));
  byId('excluded').replaceChildren(...(now.excluded.length === 0 ? [] : [html('h3', {}, 'Out of the running, and why'),
    html('ul', { class: 'note' }, now.excluded.map((text) => html('li', {}, text)))]));
  chooseSize(tuning.size);
}

function startTuning() {
  byId('collectives').replaceChildren(...facts.tuning.map((one, i) =>
    html('button', { type: 'button', 'data-collective': i, onclick: () => chooseCollective(i) }, one.collective)));
  byId('size').max = String(facts.sizes.length - 1);
  byId('size').addEventListener('input', () => chooseSize(Number(byId('size').value)));
  tuning.size = Math.max(facts.sizes.indexOf(1 << 20), 0);
  chooseCollective(0);
}
