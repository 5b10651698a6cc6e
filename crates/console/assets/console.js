// What pages do by themselves: times that go on, copying, asking before harm, and catching up after a break.
const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

function span(ms) {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

function tick() {
  const now = Date.now();
  for (const time of document.querySelectorAll('time[data-when]')) {
    const apart = now - Date.parse(time.dateTime);
    const text = apart >= 0 ? `${span(apart)} ago` : `in ${span(-apart)}`;
    if (time.textContent !== text) time.textContent = text;
  }
}

// Buttons with data-copy put a text on the clipboard and say so.
document.addEventListener('click', async (event) => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  const word = button.textContent;
  button.textContent = 'Copied';
  setTimeout(() => { button.textContent = word; }, 1500);
});

// Forms with data-confirm ask in a dialog first; without a script they lead to a page that asks.
document.addEventListener('submit', (event) => {
  const form = event.target.closest('form[data-confirm]');
  if (!form || form.dataset.confirmed) return;
  event.preventDefault();
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-labelledby', 'confirm-text');
  const text = document.createElement('p');
  text.id = 'confirm-text';
  text.className = 'lead';
  text.textContent = form.dataset.confirm;
  const row = document.createElement('div');
  row.className = 'row';
  const no = document.createElement('button');
  no.textContent = form.dataset.no || 'Leave it';
  const yes = document.createElement('button');
  yes.textContent = form.dataset.yes || 'Yes';
  yes.className = form.hasAttribute('data-harm') ? 'danger' : 'primary';
  row.append(yes, no);
  const reason = document.createElement('input');
  if (form.dataset.reason) {
    const label = Object.assign(document.createElement('label'), { className: 'field', textContent: form.dataset.reason });
    reason.maxLength = 500;
    label.append(reason);
    dialog.append(text, label, row);
  } else dialog.append(text, row);
  document.body.append(dialog);
  dialog.addEventListener('close', () => dialog.remove());
  no.addEventListener('click', () => dialog.close());
  yes.addEventListener('click', () => {
    dialog.close();
    form.dataset.confirmed = 'yes';
    const said = Object.assign(document.createElement('input'), { type: 'hidden', name: 'confirmed', value: 'yes' });
    form.append(said);
    if (form.dataset.reason) form.append(Object.assign(document.createElement('input'), { type: 'hidden', name: 'reason', value: reason.value }));
    form.requestSubmit(event.submitter);
  });
  dialog.showModal();
  no.focus();
});

// A file that is dropped or chosen goes into the text field that it names.
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

// Live parts.
const offline = document.getElementById('offline');
document.addEventListener('htmx:sse:error', (event) => {
  if (event.detail.status === 401) location.reload();
  else if (offline) offline.hidden = false;
});
document.addEventListener('htmx:sse:after:connection', () => { if (offline) offline.hidden = true; });
document.addEventListener('htmx:sse:after:message', () => { if (offline) offline.hidden = true; tick(); });
document.addEventListener('signed-out', () => location.reload());
document.addEventListener('htmx:after:swap', tick);

// The menu of small screens closes with Escape, as does the card of the user.
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  for (const open of document.querySelectorAll('.who[open], .menu-fold[open]')) {
    open.open = false;
    open.querySelector('summary').focus();
  }
});

tick();
setInterval(tick, SECOND);

// A stream that has said everything is cut off, and that is no error.
window.addEventListener('unhandledrejection', (event) => { if (event.reason?.name === 'AbortError') event.preventDefault(); });

// A list that grows is followed to its end while the switch beside it is on.
function follow() {
  for (const on of document.querySelectorAll('input[data-follow]:checked')) {
    const list = document.getElementById(on.dataset.follow);
    if (list) list.scrollTop = list.scrollHeight;
  }
}
document.addEventListener('htmx:sse:after:message', follow);
document.addEventListener('change', (event) => { if (event.target.matches('input[data-follow]')) follow(); });
if (!location.hash) follow();

// A draft of a launch stays in this tab after it was sent, so that it can be corrected and sent again. What may be
// secret does not.
const SENT = 'launch-sent';
const NOT_KEPT = ['_word', 'once', 'at', 'user_data'];
document.addEventListener('submit', (event) => {
  const form = event.target.closest('form[data-draft]');
  if (!form || event.submitter?.hasAttribute('formaction')) return;
  const pairs = [...new FormData(form)].filter(([name]) => !NOT_KEPT.includes(name));
  sessionStorage.setItem(SENT, JSON.stringify(pairs));
});
const shown = document.querySelector('[data-launch]');
if (shown) {
  const sent = sessionStorage.getItem(SENT);
  if (sent && document.referrer.includes('/console/launch/')) sessionStorage.setItem(`launch-${shown.dataset.launch}`, sent);
  sessionStorage.removeItem(SENT);
}
document.addEventListener('click', (event) => {
  const link = event.target.closest('a[data-again]');
  const sent = link && sessionStorage.getItem(`launch-${link.dataset.again}`);
  if (!sent) return;
  event.preventDefault();
  const word = document.querySelector('input[name="_word"]').value;
  const form = Object.assign(document.createElement('form'), { method: 'post', action: '/console/launch/image', hidden: true });
  for (const [name, value] of [['_word', word], ['at', 'image'], ...JSON.parse(sent)]) {
    form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
  }
  document.body.append(form);
  form.submit();
});

// A live part whose stream never began, or broke in a way that nobody repairs, begins again.
document.addEventListener('htmx:sse:close', (event) => {
  if (event.detail.reason === 'message') event.target.dataset.over = 'yes';
});
setInterval(() => {
  if (document.hidden) return;
  for (const part of document.querySelectorAll('[hx-sse\\:connect]')) {
    if (part.dataset.over || part._htmx?.sse || !part._htmx) continue;
    htmx.ajax('GET', part.getAttribute('hx-sse:connect'), { source: part }).catch(() => {});
  }
}, 3 * SECOND);
