package steps

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const secret = "0123456789abcdef0123456789abcdef"

func vectors[T any](t *testing.T, name string) []T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "vectors", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var read []T
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

type object = map[string]any

func body(t *testing.T, more object) []byte {
	t.Helper()
	call := object{
		"version": 2, "action": "run", "step": "create", "attempt": 1, "idempotency_key": "k-1", "params": object{"team": "red"},
		"operation": object{"id": "o-1", "workflow": "acme.database", "workflow_version": 1},
	}
	for name, value := range more {
		call[name] = value
	}
	text, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// engine signs calls and hands them to a service, as the engine does.
type engine struct {
	t       *testing.T
	service *Service
	log     *bytes.Buffer
	now     time.Time
}

func newEngine(t *testing.T, store Store, run, undo Func) *engine {
	t.Helper()
	e := &engine{t: t, log: &bytes.Buffer{}, now: time.Unix(1_700_000_000, 0)}
	service, err := New("acme.database", secret, WithStore(store), WithLog(func(format string, arguments ...any) {
		fmt.Fprintf(e.log, format+"\n", arguments...)
	}))
	if err != nil {
		t.Fatal(err)
	}
	service.Step("create", run, undo)
	e.service = service
	return e
}

func (e *engine) answer(more object) object {
	e.t.Helper()
	e.now = e.now.Add(time.Second)
	sent, timestamp := body(e.t, more), strconv.FormatInt(e.now.Unix(), 10)
	status, answer := e.service.Handle(context.Background(), timestamp, Sign(secret, timestamp, sent), sent, e.now)
	if status != http.StatusOK {
		e.t.Fatalf("%d: %s", status, answer)
	}
	return decoded(e.t, answer).(object)
}

func (e *engine) expect(outcome string, more object) {
	e.t.Helper()
	if answer := e.answer(more); answer["outcome"] != outcome {
		e.t.Errorf("%v is not %s", answer, outcome)
	}
}

func always(answer Answer, err error) Func {
	return func(context.Context, *Call) (Answer, error) { return answer, err }
}

func equal(t *testing.T, got, expected any) {
	t.Helper()
	if !reflect.DeepEqual(got, expected) {
		t.Errorf("got %v, expected %v", got, expected)
	}
}

func TestVectorsOfSignatures(t *testing.T) {
	type vector struct {
		Name, Body           string
		Valid                bool
		Secrets              []string
		Now                  int64
		Timestamp, Signature string
	}
	for _, v := range vectors[vector](t, "signatures") {
		err := Verify(v.Secrets, v.Timestamp, v.Signature, []byte(v.Body), time.Unix(v.Now, 0))
		if (err == nil) != v.Valid {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
}

func TestVectorsOfCalls(t *testing.T) {
	type reads struct {
		Action, Step, Key string
		Attempt           int64
		Operation         Operation
		Params            json.RawMessage
		Facts             map[string]Facts
		OwnFacts          Facts   `json:"own_facts"`
		OwnSecrets        Secrets `json:"own_secrets"`
		Signal            *Signal
		SignalURL         string `json:"signal_url"`
		SignalToken       string `json:"signal_token"`
	}
	type vector struct {
		Name, Body, Names string
		Valid             bool
		Reads             reads
	}
	for _, v := range vectors[vector](t, "calls") {
		call, err := ParseCall([]byte(v.Body))
		if !v.Valid {
			if err == nil || !strings.Contains(err.Error(), v.Names) {
				t.Errorf("%s: %v", v.Name, err)
			}
			for _, value := range []string{"s3cret", "r00t", "red-1"} {
				if err != nil && strings.Contains(err.Error(), value) {
					t.Errorf("%s: %v has a value", v.Name, err)
				}
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if call.Own.Facts == nil {
			call.Own.Facts = Facts{}
		}
		if call.Own.Secrets == nil {
			call.Own.Secrets = Secrets{}
		}
		equal(t, decoded(t, call.Params), decoded(t, v.Reads.Params))
		if call.Signal != nil {
			equal(t, call.Signal.Key, v.Reads.Signal.Key)
			equal(t, decoded(t, call.Signal.Payload), decoded(t, v.Reads.Signal.Payload))
		}
		got := reads{call.Action, call.Step, call.Key, call.Attempt, call.Operation, nil, call.Facts, call.Own.Facts, call.Own.Secrets, nil, call.SignalURL, call.SignalToken}
		equal(t, (call.Signal == nil), (v.Reads.Signal == nil))
		v.Reads.Params, v.Reads.Signal = nil, nil
		equal(t, got, v.Reads)
	}
}

func TestVectorsOfAnswers(t *testing.T) {
	type vector struct {
		Name, Names string
		Valid       bool
		Answer      json.RawMessage
	}
	for _, v := range vectors[vector](t, "answers") {
		var answer Answer
		strict := json.NewDecoder(bytes.NewReader(v.Answer))
		strict.DisallowUnknownFields()
		err := strict.Decode(&answer)
		var encoded []byte
		if err == nil {
			encoded, err = answer.encode()
		}
		if v.Valid && err == nil {
			equal(t, decoded(t, encoded), decoded(t, v.Answer))
		} else if v.Valid || err == nil || !strings.Contains(err.Error(), v.Names) {
			t.Errorf("%s: %v", v.Name, err)
		}
	}
}

func TestEveryOutcomeArrives(t *testing.T) {
	for _, one := range []struct {
		answer   Answer
		err      error
		expected object
	}{
		{Done(nil), nil, object{"outcome": "done"}},
		{Done(Facts{"id": 7}).WithSecrets(Secrets{"root": "x"}), nil, object{"outcome": "done", "facts": object{"id": 7.0}, "secrets": object{"root": "x"}}},
		{Skip("exists"), nil, object{"outcome": "skip", "reason": "exists"}},
		{Wait(90 * time.Second).WithProgress(40), nil, object{"outcome": "wait", "after": "90s", "progress": 40.0}},
		{WaitForSignal("ok", 7*24*time.Hour), nil, object{"outcome": "wait", "signal": "ok", "within": "7d"}},
		{Retry("later", time.Minute), nil, object{"outcome": "retry", "reason": "later", "after": "1m"}},
		{Answer{}, Fail("no"), object{"outcome": "fail", "reason": "no"}},
		{Done(nil), fmt.Errorf("wrapped: %w", Fail("no")), object{"outcome": "fail", "reason": "no"}},
		{Answer{}, RetryAfter("it restarts", 15*time.Second), object{"outcome": "retry", "reason": "it restarts", "after": "15s"}},
	} {
		equal(t, newEngine(t, NewMemoryStore(), always(one.answer, one.err), nil).answer(nil), one.expected)
	}
	for d, text := range map[time.Duration]string{0: "0ms", 48 * time.Hour: "2d", 90 * time.Minute: "90m", time.Millisecond: "1ms"} {
		equal(t, Duration(d), text)
	}
}

func TestAnyOtherErrorRetriesAndItsMessageStaysHere(t *testing.T) {
	panics := func(context.Context, *Call) (Answer, error) { panic("postgres://root:s3cret@db") }
	for part, run := range map[string]Func{
		"*errors.errorString in run of create": always(Answer{}, errors.New("postgres://root:s3cret@db")),
		"panic in run of create":               panics,
	} {
		e := newEngine(t, NewMemoryStore(), run, nil)
		answer := e.answer(nil)
		reason := fmt.Sprint(answer)
		if answer["outcome"] != "retry" || !strings.Contains(reason, part) || strings.Contains(reason, "s3cret") {
			t.Errorf("%v", answer)
		}
		if !strings.Contains(e.log.String(), "s3cret") {
			t.Errorf("the log does not have what is needed to find the fault: %s", e.log)
		}
	}
}

func TestAnAnswerThatBreaksTheContractRetriesAndNamesTheField(t *testing.T) {
	for part, answer := range map[string]Answer{
		"facts must be JSON": Done(Facts{"a": func() {}}),
		"longer than":        Done(Facts{"a": strings.Repeat("x", 300_000)}),
		"outcome must be":    {},
		"no field progress":  Done(nil).WithProgress(1),
		"after must be":      Wait(-time.Second),
		"signal must have":   WaitForSignal("", 0),
	} {
		got := newEngine(t, NewMemoryStore(), always(answer, nil), nil).answer(nil)
		if got["outcome"] != "retry" || !strings.Contains(fmt.Sprint(got["reason"]), part) {
			t.Errorf("%s: %v", part, got)
		}
	}
	long := newEngine(t, NewMemoryStore(), always(Answer{}, Fail(strings.Repeat("x", 5000))), nil).answer(nil)
	equal(t, len([]rune(long["reason"].(string))), 1000)
}

func stores(t *testing.T) []Store {
	t.Helper()
	file, err := NewFileStore(filepath.Join(t.TempDir(), "answers.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return []Store{NewMemoryStore(), file}
}

func TestAFinishedKeyGetsItsAnswerAgain(t *testing.T) {
	for _, store := range stores(t) {
		calls := 0
		e := newEngine(t, store, func(context.Context, *Call) (Answer, error) {
			calls++
			return Done(Facts{"n": calls}), nil
		}, nil)
		equal(t, e.answer(nil), object{"outcome": "done", "facts": object{"n": 1.0}})
		equal(t, e.answer(object{"attempt": 2}), object{"outcome": "done", "facts": object{"n": 1.0}})
		equal(t, e.answer(object{"idempotency_key": "k-2"}), object{"outcome": "done", "facts": object{"n": 2.0}})
	}
}

func TestWhatIsNotFinishedIsCalledAgain(t *testing.T) {
	answers := []Func{always(Wait(time.Second), nil), always(Retry("busy", 0), nil), always(Answer{}, Fail("no")), always(Done(nil), nil)}
	e := newEngine(t, NewMemoryStore(), func(ctx context.Context, call *Call) (Answer, error) {
		return answers[call.Attempt-1](ctx, call)
	}, nil)
	for index, outcome := range []string{"wait", "retry", "fail", "done"} {
		e.expect(outcome, object{"attempt": index + 1})
	}
}

func TestARunThatComesAfterItsUndoHasNoEffect(t *testing.T) {
	for _, store := range stores(t) {
		var calls []string
		run := func(context.Context, *Call) (Answer, error) { calls = append(calls, "run"); return Done(nil), nil }
		undo := func(_ context.Context, call *Call) (Answer, error) {
			calls = append(calls, "undo")
			if call.Attempt == 1 {
				return Answer{}, errors.New("busy")
			}
			return Done(nil), nil
		}
		e := newEngine(t, store, run, undo)
		e.expect("retry", object{"action": "undo"})
		e.expect("fail", nil)
		e.expect("done", object{"action": "undo", "attempt": 2})
		e.expect("done", object{"action": "undo", "attempt": 3})
		e.expect("fail", nil)
		e.expect("done", object{"idempotency_key": "k-2"})
		equal(t, calls, []string{"undo", "undo", "run"})
	}
}

func TestASecondCallWhileTheFirstStillRunsWaits(t *testing.T) {
	entered, leave, first := make(chan bool), make(chan bool), make(chan int)
	e := newEngine(t, NewMemoryStore(), func(context.Context, *Call) (Answer, error) {
		entered <- true
		<-leave
		return Done(nil), nil
	}, always(Done(nil), nil))
	sent, now := body(t, nil), time.Unix(1_700_000_000, 0)
	go func() {
		status, _ := e.service.Handle(context.Background(), "1700000000", Sign(secret, "1700000000", sent), sent, now)
		first <- status
	}()
	<-entered
	e.expect("wait", object{"attempt": 2})
	e.expect("wait", object{"action": "undo"})
	close(leave)
	equal(t, <-first, 200)
	e.expect("done", object{"attempt": 3})
}

func TestAFileRemembersForgetsInTimeAndDropsACutLine(t *testing.T) {
	path, now := filepath.Join(t.TempDir(), "answers.jsonl"), time.Now()
	open := func(at time.Time) *FileStore {
		store, err := newFileStore(path, at)
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
	isFirst := func(store Store, at time.Time) bool {
		isFirst, err := store.IsFirst("v1=1", at, at.Add(300*time.Second))
		return isFirst && err == nil
	}
	store := open(now)
	if err := store.Put("k", []byte(`{}`)); err != nil || !isFirst(store, now) {
		t.Fatal(err)
	}
	if _, err := store.file.WriteString(`{"key": "cut`); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	again := open(now)
	kept, _ := again.Get("k")
	equal(t, string(kept), "{}")
	equal(t, isFirst(again, now), false)
	equal(t, isFirst(open(now.Add(302*time.Second)), now.Add(302*time.Second)), true)
	kept, _ = open(now.Add(31 * 24 * time.Hour)).Get("k")
	equal(t, kept == nil, true)
}

func TestMemoryKeepsTheNewest(t *testing.T) {
	store := newMemoryStore(2)
	for _, key := range []string{"a", "b", "b", "c"} {
		_ = store.Put(key, []byte(key))
	}
	for key, expected := range map[string]string{"a": "", "b": "b", "c": "c"} {
		kept, _ := store.Get(key)
		equal(t, string(kept), expected)
	}
	for _, one := range []struct {
		now      int64
		expected bool
	}{{100, true}, {400, false}, {401, true}} {
		isFirst, _ := store.IsFirst("1", time.Unix(one.now, 0), time.Unix(400, 0))
		equal(t, isFirst, one.expected)
	}
}

func TestForgedReplayedLateLongAndUnsignedRequestsDoNothing(t *testing.T) {
	calls := 0
	e := newEngine(t, NewMemoryStore(), func(context.Context, *Call) (Answer, error) { calls++; return Retry("busy", 0), nil }, nil)
	now, at := time.Unix(1_700_000_000, 0), "1700000000"
	sent := body(t, nil)
	signature := Sign(secret, at, sent)
	status := func(timestamp, signature string, body []byte, now time.Time, expected int) {
		t.Helper()
		status, answer := e.service.Handle(context.Background(), timestamp, signature, body, now)
		if status != expected {
			t.Errorf("%d: %s", status, answer)
		}
	}
	status(at, Sign(strings.Repeat("x", 32), at, sent), sent, now, 401)
	status(at, signature, bytes.Replace(sent, []byte("red"), []byte("blu"), 1), now, 401)
	status(at, signature, sent, now.Add(301*time.Second), 401)
	status(at, signature, sent, now.Add(-301*time.Second), 401)
	status(at, "", sent, now, 401)
	status("", signature, sent, now, 401)
	status(at, signature, make([]byte, bodyBytesMax+1), now, 413)
	status(at, Sign(secret, at, []byte("{")), []byte("{"), now, 400)
	equal(t, calls, 0)
	status(at, signature, sent, now, 200)
	status(at, signature, sent, now, 425)
	status(at, "v0=1, "+signature, sent, now, 425)
	equal(t, calls, 1)
}

func TestAStepOrWorkflowOfOthersIsRetriedAndAWeakSecretRefused(t *testing.T) {
	e := newEngine(t, NewMemoryStore(), always(Done(nil), nil), nil)
	e.expect("retry", object{"step": "drop"})
	e.expect("retry", object{"action": "undo"})
	e.expect("retry", object{"operation": object{"id": "o", "workflow": "acme.other", "workflow_version": 1}})
	if _, err := New("acme.database", "short"); err == nil {
		t.Error("a short secret is accepted")
	}
	if _, err := New("acme.database", secret, WithOldSecret("short")); err == nil {
		t.Error("a short old secret is accepted")
	}
	defer func() { equal(t, recover() != nil, true) }()
	e.service.Step("create", always(Done(nil), nil), nil)
}

type brokenStore struct{ *MemoryStore }

func (brokenStore) Get(string) ([]byte, error) { return nil, errors.New("the disk is full") }

func TestABrokenStoreIsRetriedByTheEngine(t *testing.T) {
	e := newEngine(t, brokenStore{NewMemoryStore()}, always(Done(nil), nil), nil)
	sent := body(t, nil)
	status, answer := e.service.Handle(context.Background(), "1700000000", Sign(secret, "1700000000", sent), sent, e.now)
	if status != 503 || strings.Contains(string(answer), "disk") {
		t.Errorf("%d: %s", status, answer)
	}
}

// serve answers the address, and a function that stops the server and waits for its end.
func serve(t *testing.T, e *engine) (string, func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.service.Serve(ctx, listener) }()
	t.Cleanup(cancel)
	return listener.Addr().String(), func() error { cancel(); return <-ended }
}

var clock = time.Now().Add(-100 * time.Second)

func post(t *testing.T, address string, more object) (int, object) {
	t.Helper()
	clock = clock.Add(time.Second)
	sent, timestamp := body(t, more), strconv.FormatInt(clock.Unix(), 10)
	request, err := http.NewRequest("POST", "http://"+address+"/create", bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Provision-Engine-Timestamp", timestamp)
	request.Header.Set("Provision-Engine-Signature", Sign(secret, timestamp, sent))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return 0, nil
	}
	defer response.Body.Close()
	answer := object{}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Error(err)
	}
	return response.StatusCode, answer
}

func TestHTTP(t *testing.T) {
	e := newEngine(t, NewMemoryStore(), func(_ context.Context, call *Call) (Answer, error) {
		params, err := Params[struct{ Team string }](call)
		return Done(Facts{"team": params.Team}), err
	}, nil)
	address, stop := serve(t, e)
	status, answer := post(t, address, nil)
	equal(t, status, 200)
	equal(t, answer, object{"outcome": "done", "facts": object{"team": "red"}})
	for path, expected := range map[string]int{"/health": 200, "/": 404} {
		response, err := http.Get("http://" + address + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		equal(t, response.StatusCode, expected)
	}
	for expected, sent := range map[int][]byte{401: []byte("{}"), 413: make([]byte, bodyBytesMax+1)} {
		response, err := http.Post("http://"+address, "application/json", bytes.NewReader(sent))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		equal(t, response.StatusCode, expected)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

func TestAClientThatSendsSlowlyIsCutOff(t *testing.T) {
	e := newEngine(t, NewMemoryStore(), always(Done(nil), nil), nil)
	e.service.readMax = 200 * time.Millisecond
	address, _ := serve(t, e)
	for _, part := range []string{"POST / HTTP/1.1\r\n", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"} {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = connection.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = connection.Write([]byte(part))
		for read := make([]byte, 1024); err == nil; {
			_, err = connection.Read(read)
		}
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Error("the connection stays open")
		}
		connection.Close()
	}
}

func TestStopLetsARunningCallFinish(t *testing.T) {
	entered, leave, answered := make(chan bool), make(chan bool), make(chan object)
	e := newEngine(t, NewMemoryStore(), func(context.Context, *Call) (Answer, error) {
		entered <- true
		<-leave
		return Done(nil), nil
	}, nil)
	address, stop := serve(t, e)
	go func() {
		_, answer := post(t, address, nil)
		answered <- answer
	}()
	<-entered
	stopped := make(chan error)
	go func() { stopped <- stop() }()
	close(leave)
	equal(t, <-answered, object{"outcome": "done"})
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestTheExampleMakesEverythingOnceThoughItIsKilled(t *testing.T) {
	data := t.TempDir()
	program := filepath.Join(data, "example")
	if out, err := exec.Command("go", "build", "-o", program, "../example").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(data, "acme.secret"), []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start := func() (*exec.Cmd, string) {
		command := exec.Command(program, "--port", "0", "--secret-file", filepath.Join(data, "acme.secret"), "--data", data)
		out, err := command.StdoutPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = command.Process.Kill() })
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return command, strings.TrimSuffix(strings.TrimSpace(line[strings.Index(line, "http://")+7:]), "/")
	}
	process, address := start()
	answer := func(more object) object {
		t.Helper()
		_, answer := post(t, address, more)
		return answer
	}
	facts := object{"reserve": object{"name": "red-db"}}
	first := answer(object{"step": "reserve", "idempotency_key": "k-1"})
	equal(t, first, object{"outcome": "done", "facts": object{"name": "red-db"}})
	equal(t, answer(object{"step": "approve", "idempotency_key": "k-2"})["signal"], "approved")
	_ = process.Process.Kill()
	_ = process.Wait()
	ledgerPath := filepath.Join(data, "ledger.jsonl")
	file, err := os.OpenFile(ledgerPath, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = file.WriteString(`{"effect": "made", "ki`)
	file.Close()
	process, address = start()
	equal(t, answer(object{"step": "reserve", "idempotency_key": "k-1", "attempt": 2}), first)
	signal := object{"key": "approved", "payload": object{"by": "ann"}}
	equal(t, answer(object{"step": "approve", "idempotency_key": "k-2", "signal": signal})["facts"], object{"by": "ann"})
	equal(t, answer(object{"step": "create", "idempotency_key": "k-3", "facts": facts})["outcome"], "done")
	equal(t, answer(object{"step": "check", "idempotency_key": "k-4", "params": object{"team": "red", "broken": true}})["outcome"], "fail")
	for attempt := 1; attempt <= 2; attempt++ {
		equal(t, answer(object{"action": "undo", "step": "create", "idempotency_key": "k-3", "attempt": attempt}), object{"outcome": "done"})
		equal(t, answer(object{"action": "undo", "step": "reserve", "idempotency_key": "k-1", "attempt": attempt}), object{"outcome": "done"})
	}
	equal(t, answer(object{"step": "create", "idempotency_key": "k-3", "facts": facts, "attempt": 2})["outcome"], "fail")
	text, _ := os.ReadFile(ledgerPath)
	var effects []string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		entry := decoded(t, []byte(line)).(object)
		effects = append(effects, fmt.Sprint(entry["effect"], " ", entry["kind"]))
	}
	equal(t, effects, []string{"made name", "made database", "removed database", "removed name"})
	_ = process.Process.Signal(syscall.SIGTERM)
	if err := process.Wait(); err != nil {
		t.Error(err)
	}
}
