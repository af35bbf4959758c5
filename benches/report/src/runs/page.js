'use strict';
// Tables sort by their exact values, and copy them. The page is complete without this.
const exact = cell => {
  const data = cell.querySelector('data');
  return data ? data.value : cell.textContent.trim();
};
const compare = (one, other) => {
  const [a, b] = [Number(one), Number(other)];
  const bothNumbers = one !== '' && other !== '' && !Number.isNaN(a) && !Number.isNaN(b);
  return bothNumbers ? a - b : one.localeCompare(other, undefined, { numeric: true });
};
const sort = (table, index, heading) => {
  const body = table.tBodies[0];
  const isUp = heading.getAttribute('aria-sort') !== 'ascending';
  for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
  heading.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
  const rows = [...body.rows].map(row => [exact(row.cells[index]), row]);
  // Values that were not measured stay at the end in both orders.
  const has = value => value !== '-';
  rows.sort(([a], [b]) => has(b) - has(a) || (isUp ? compare(a, b) : compare(b, a)));
  body.append(...rows.map(([, row]) => row));
};
const asText = table =>
  [...table.rows].map(row => [...row.cells].map(exact).join('\t')).join('\n') + '\n';
const copy = async (table, button) => {
  const text = asText(table);
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'copied';
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    button.textContent = document.execCommand('copy') ? 'copied' : 'cannot copy';
    area.remove();
  }
};
for (const table of document.querySelectorAll('table.data')) {
  [...table.tHead.rows[0].cells].forEach((heading, index) => {
    const button = document.createElement('button');
    button.textContent = heading.textContent;
    button.addEventListener('click', () => sort(table, index, heading));
    heading.replaceChildren(button);
  });
  const button = document.createElement('button');
  button.className = 'copy';
  button.textContent = 'copy the table';
  button.addEventListener('click', () => copy(table, button));
  table.parentElement.before(button);
}
