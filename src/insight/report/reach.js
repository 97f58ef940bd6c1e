// Which pairs reach each other directly, and by which rules.

function tellCell(row, column, cell) {
  const reach = hostFacts().reach;
  byId('reach-detail').replaceChildren(
    html('p', {}, html('strong', {}, nodeLabel(reach.rows[row]) + ' and ' + nodeLabel(reach.columns[column]) + ': ' + cell.way),
      ', a path of type ' + cell.type + (cell.bandwidth > 0 ? ' with ' + shown(cell.bandwidth) + ' GB/s' : '')),
    html('ul', {}, cell.reasons.map((reason) => html('li', {}, reach.reasons[reason]))));
}

function showMatrix() {
  const reach = hostFacts().reach;
  const cells = [];
  const rows = reach.rows.map((gpu, row) => html('tr', {},
    html('th', { scope: 'row' }, nodeLabel(gpu)),
    reach.cells[row].map((cell, column) => {
      if (!cell) return html('td', { class: 'none' }, '·');
      const tell = () => tellCell(row, column, cell);
      const inside = html('div', { role: 'button', onfocus: tell, onmouseenter: tell, onclick: tell,
        'aria-label': nodeLabel(gpu) + ' and ' + nodeLabel(reach.columns[column]) + ': ' + cell.way + ', ' + cell.type },
        cell.way, html('small', {}, cell.type));
      cells.push(inside);
      return html('td', { class: cell.direct ? 'yes' : 'no' }, inside);
    })));
  byId('matrix').replaceChildren(
    html('thead', {}, html('tr', {}, html('td', {}), reach.columns.map((node) => html('th', { scope: 'col' }, nodeLabel(node))))),
    html('tbody', {}, rows));
  roving(cells, Math.max(reach.columns.length - 1, 1));
  const words = [];
  if (reach.gpusLeftOut > 0) words.push(reach.gpusLeftOut + ' more GPUs are left out.');
  if (hostFacts().nodes.some((node) => node.type === 'NET' && !node.used))
    words.push('A job of one host uses no NIC, so there are none here; draw the job with --nodes 2 to see them.');
  byId('left-out').hidden = words.length === 0;
  byId('left-out').textContent = words.join(' ');
}
