// A file that is dropped or chosen goes into the text field that it names.
{
  async function fill(area, file) {
    if (!file || file.size > 64 * 1024) return;
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
