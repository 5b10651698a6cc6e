// A file that is dropped or chosen goes into the text field that it names. One that is too big is not read, and the
// field keeps what it has.
{
  const BYTES_MAX = 64 * 1024;
  function refuse(area) {
    const text = 'This file is too big for a public key. Choose the .pub file, which has one line.';
    const said = Object.assign(document.createElement('p'), { className: 'field-error', textContent: text });
    document.getElementById(`${area.id}-said`).replaceChildren(said);
  }
  async function fill(area, file) {
    if (!file) return;
    if (file.size > BYTES_MAX) return refuse(area);
    area.value = (await file.text()).trim();
    area.dispatchEvent(new Event('input', { bubbles: true }));
  }
  document.addEventListener('dragover', (event) => { if (event.target.closest('[data-drop]')) event.preventDefault(); });
  document.addEventListener('drop', (event) => {
    const area = event.target.closest('[data-drop]');
    if (!area || !event.dataTransfer.files.length) return;
    event.preventDefault();
    fill(area, event.dataTransfer.files[0]);
  });
  document.addEventListener('change', (event) => {
    const input = event.target.closest('input[type="file"][data-into]');
    if (input) fill(document.getElementById(input.dataset.into), input.files[0]);
  });
}
