// Everything together.

function startSettings() {
  const set = Object.entries(facts.settings);
  byId('settings').hidden = set.length === 0;
  byId('settings').replaceChildren('Set: ', ...set.flatMap(([name, value], i) => [i > 0 ? ', ' : '', html('code', {}, name + '=' + value)]));
}

startSettings();
startMachine();
startFollow();
chooseHost(0);
startJob();
startTuning();
startOptimality();
startUpgrade();
startAnswers();
