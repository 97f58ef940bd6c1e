// What another version of NCCL plans differently.

function upgradeWords(change) {
  if (change.error) return change.error;
  if (change.causes.length === 0) return 'Both versions plan this job alike.';
  return 'These are the fewest of NCCL’s changes that lead from the plan of ' + change.from + ' to that of ' + change.to + '.';
}

function startUpgrade() {
  const change = facts.upgrade;
  byId('upgrade').hidden = !change;
  byId('to-upgrade').hidden = !change;
  if (!change) return;
  byId('upgrade-title').textContent = 'From NCCL ' + change.from + ' to ' + change.to;
  byId('upgrade-words').textContent = upgradeWords(change);
  byId('upgrade-causes').replaceChildren(...table(['change', 'what is decided differently', 'what differs by it', 'back'], change.causes.map((one) =>
    [html('code', {}, one.name), one.summary, one.parts.join(', '), one.back ? html('code', {}, one.back) : '–'])));
  byId('upgrade-times').replaceChildren(...table(['#size', '#' + change.from, '#' + change.to, '#change'], change.times.map((one) =>
    [sizeWords(one.bytes), timeWords(one.before), timeWords(one.after),
      one.before > 0 ? (one.after > one.before ? '+' : '') + shown((one.after / one.before - 1) * 100) + ' %' : '–'])));
}
