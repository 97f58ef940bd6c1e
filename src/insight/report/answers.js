// The answers of `xylem why`, and how far the plan is from what could be.

function stepElement(step) {
  const rows = Object.entries(step.inputs);
  if (step.threshold) rows.push(['limit', step.threshold]);
  if (step.variable) rows.push(['variable', step.variable]);
  const mark = typeof step.yes !== 'boolean' ? '' : step.yes ? '+ ' : '× ';
  const meaning = typeof step.yes !== 'boolean' ? null : step.yes ? 'yes' : 'no';
  return html('div', { class: 'step' }, html('p', {}, html('span', { title: meaning }, mark), html('code', {}, step.rule), ' ', step.text),
    rows.length > 0 ? html('dl', {}, rows.map(([name, value]) => html('div', {}, html('dt', {}, name), html('dd', {}, value)))) : null,
    step.sources.filter((one) => one.element).map((one) =>
      html('p', { class: 'source' }, (one.line > 0 ? one.file + ':' + one.line + '  ' : '') + one.element)));
}

function answerElement(answer) {
  return html('details', {}, html('summary', {}, html('code', {}, answer.question), answer.headline),
    answer.steps.map(stepElement),
    answer.tables.flatMap((one) => [html('h4', {}, one.title), html('div', { class: 'scroll' }, html('table', {}, table(one.columns, one.rows)))]),
    answer.versionRules.length > 0 ? [html('h4', {}, 'Rules that have not always been NCCL’s'),
      html('ul', {}, answer.versionRules.map((one) => html('li', {}, 'since ' + one.since + ' ', html('code', {}, one.name), ' ' + one.summary,
        one.back ? [', back with ', html('code', {}, one.back)] : null))),
      html('p', { class: 'note' }, 'Before: ' + answer.before)] : null,
    answer.whatIf.length > 0 ? [html('h4', {}, 'What other settings would do'),
      html('ul', {}, answer.whatIf.map((one) => html('li', {}, html('code', {}, one.setting), ' ', one.outcome)))] : null,
    answer.notes.map((note) => html('p', { class: 'note' }, note)));
}

function openAnswers(open) {
  for (const one of byId('answer-list').children) one.open = open;
}

function startAnswers() {
  byId('answers').hidden = facts.answers.length === 0;
  byId('answer-list').replaceChildren(...facts.answers.map(answerElement));
  byId('open-answers').addEventListener('click', () => openAnswers(true));
  byId('close-answers').addEventListener('click', () => openAnswers(false));
  window.addEventListener('beforeprint', () => openAnswers(true));
}

function startOptimality() {
  const none = facts.optimality.length === 0;
  byId('optimality').hidden = none;
  byId('to-optimality').hidden = none;
  byId('optimality-table').replaceChildren(...table(['', '#achieved GB/s', '#bound GB/s', '#of it', '', 'what bounds it'], facts.optimality.map((one) => {
    const part = one.bound > 0 ? one.achieved / one.bound : 0;
    const bar = html('i');
    bar.style.width = Math.min(part, 1) * 100 + '%';
    return [one.what, shown(one.achieved), shown(one.bound), percent(part), html('span', { class: 'meter', 'aria-hidden': 'true' }, bar), one.cut];
  })));
}
