// Package steps serves the steps of a declared workflow of provision-engine. It is one file without dependencies, for
// Go 1.19 or later: copy it into a directory of your module.
//
//	service, err := steps.New("acme.database", secret, steps.WithStore(store))
//	service.Step("create",
//		func(ctx context.Context, call *steps.Call) (steps.Answer, error) {
//			params, err := steps.Params[Params](call)
//			if err != nil {
//				return steps.Answer{}, err
//			}
//			if params.Team == "guest" {
//				return steps.Answer{}, steps.Fail("guests get no database") // the engine begins to undo
//			}
//			database, err := createDatabase(ctx, call.Key) // the same key in every attempt: create it once
//			if err != nil {
//				return steps.Answer{}, err // becomes retry
//			}
//			return steps.Done(steps.Facts{"id": database.ID}), nil
//		},
//		// Also called when it is unknown whether run did anything.
//		func(ctx context.Context, call *steps.Call) (steps.Answer, error) {
//			return steps.Done(nil), deleteDatabase(ctx, call.Key)
//		})
//	err = service.ListenAndServe(ctx, "127.0.0.1:8780")
//
// A function returns Done, Skip, Wait, WaitForSignal, Retry or an error. The error of Fail becomes fail, also where it
// is wrapped, and that of RetryAfter becomes retry after a time. Any other error, and a panic, becomes retry with the
// type of the error; its message goes only to the log, because it may hold secrets.
//
// The service refuses a call with a wrong or missing signature, one whose timestamp is more than five minutes away, and
// one that it received before. It keeps the answers of finished steps by idempotency key, so a repeated call gets the
// same answer and the function is not called again. After a crash in the middle the function is called again: use
// call.Key as the name or label of what you create.
//
// A Service is an http.Handler, so any server of Go can serve it.
package steps

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	callVersion    = 2
	ageMax         = 5 * time.Minute // of a timestamp, before or after our clock
	bodyBytesMax   = 1024 * 1024     // of a call
	answerBytesMax = 256 * 1024      // what the engine reads
	reasonCharsMax = 1000
	keyCharsMax    = 253 // of the name of a fact, a secret or a signal
	depthMax       = 32  // of the values of facts
	secretBytesMin = 32
	signaturesMax  = 8                // in one header; more than one only while a secret is replaced
	readMax        = 10 * time.Second // from the first byte of a request to its last
	idleMax        = 2 * time.Minute  // of a kept connection; longer than the engine keeps one, so that it never finds one cut
	headerBytesMax = 64 * 1024
	stopMax        = 10 * time.Second    // for calls that run when the service is told to stop
	keptMax        = 10_000              // answers of a memory store
	keptFor        = 30 * 24 * time.Hour // answers of a file store
)

// The answer of a step ----------------------------------------------------------------------------------------------

// Facts are values that later steps see.
type Facts map[string]any

// Secrets are values that only this step gets back, for undo.
type Secrets map[string]string

// Answer is what goes over the wire. Make it with Done, Skip, Wait, WaitForSignal or Retry.
type Answer struct {
	Outcome  string  `json:"outcome"`
	Facts    Facts   `json:"facts"`
	Secrets  Secrets `json:"secrets"`
	After    *string `json:"after"`
	Signal   *string `json:"signal"`
	Within   *string `json:"within"`
	Reason   *string `json:"reason"`
	Progress any     `json:"progress"` // a number from 0 to 100 or a text
}

// Done: the step is finished. Later steps see the facts, which may be nil.
func Done(facts Facts) Answer { return Answer{Outcome: "done", Facts: facts} }

// Skip: there is nothing to do.
func Skip(reason string) Answer { return Answer{Outcome: "skip", Reason: optional(reason)} }

// Wait: all is well, call again after this time. It costs nothing.
func Wait(after time.Duration) Answer {
	return Answer{Outcome: "wait", After: optional(Duration(after))}
}

// WaitForSignal: all is well, call again when the signal arrives, at most within this time. 0 is until the deadline.
func WaitForSignal(key string, within time.Duration) Answer {
	answer := Answer{Outcome: "wait", Signal: &key}
	if within != 0 {
		answer.Within = optional(Duration(within))
	}
	return answer
}

// Retry: something broke that may heal. It spends the retry budget of the step. 0 leaves the pause to the engine.
func Retry(reason string, after time.Duration) Answer {
	answer := Answer{Outcome: "retry", Reason: &reason}
	if after != 0 {
		answer.After = optional(Duration(after))
	}
	return answer
}

// WithSecrets adds values that only this step gets back.
func (a Answer) WithSecrets(secrets Secrets) Answer { a.Secrets = secrets; return a }

// WithFacts adds values that later steps see.
func (a Answer) WithFacts(facts Facts) Answer { a.Facts = facts; return a }

// WithReason adds what people read while the step waits.
func (a Answer) WithReason(reason string) Answer { a.Reason = optional(reason); return a }

// WithProgress adds a number from 0 to 100 or a text.
func (a Answer) WithProgress(progress any) Answer { a.Progress = progress; return a }

// String hides secrets.
func (a Answer) String() string { return "Answer(" + a.Outcome + ")" }

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Duration is the text of a duration: a whole number and one of the units ms, s, m, h, d.
func Duration(d time.Duration) string {
	millis := d.Milliseconds()
	for _, unit := range []string{"d", "h", "m", "s"} {
		if scale := int64(unitsMillis[unit]); millis != 0 && millis%scale == 0 {
			return strconv.FormatInt(millis/scale, 10) + unit
		}
	}
	return strconv.FormatInt(millis, 10) + "ms"
}

type failError struct{ reason string }

func (e *failError) Error() string { return e.reason }

// Fail is the error for when no further call can help. People read the reason: put no secret into it.
func Fail(reason string) error { return &failError{reason} }

type retryError struct {
	reason string
	after  time.Duration
}

func (e *retryError) Error() string { return e.reason }

// RetryAfter is the error for when the same call may work later. 0 leaves the pause to the engine.
func RetryAfter(reason string, after time.Duration) error { return &retryError{reason, after} }

// InvalidAnswer: the answer of a function breaks the contract. It names the field and repeats no value.
type InvalidAnswer string

func (e InvalidAnswer) Error() string { return string(e) }

var (
	unitsMillis   = map[string]uint64{"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
	durationForm  = regexp.MustCompile(`^([0-9]{1,20})(ms|s|m|h|d)$`)
	timestampForm = regexp.MustCompile(`^[0-9]{1,12}$`)
	signatureForm = regexp.MustCompile(`^v1=[0-9a-f]{64}$`)
	fields        = map[string]string{
		"done": "facts secrets", "skip": "reason", "retry": "reason after", "fail": "reason",
		"wait": "after signal within reason facts progress",
	}
)

// given has the fields that are set: empty facts replace those before, and facts that are nil leave them.
func (a Answer) given() map[string]any {
	given := map[string]any{"outcome": a.Outcome}
	for name, text := range map[string]*string{"after": a.After, "signal": a.Signal, "within": a.Within, "reason": a.Reason} {
		if text != nil {
			given[name] = *text
		}
	}
	if a.Facts != nil {
		given["facts"] = a.Facts
	}
	if a.Secrets != nil {
		given["secrets"] = a.Secrets
	}
	if a.Progress != nil {
		given["progress"] = a.Progress
	}
	return given
}

func (a Answer) check() error {
	allowed, isKnown := fields[a.Outcome]
	if !isKnown {
		return InvalidAnswer("outcome must be done, skip, wait, retry or fail")
	}
	for name := range a.given() {
		if name != "outcome" && !strings.Contains(" "+allowed+" ", " "+name+" ") {
			return InvalidAnswer(a.Outcome + " has no field " + name)
		}
	}
	if a.Reason != nil && *a.Reason == "" {
		return InvalidAnswer("reason must be a text that is not empty")
	}
	if (a.Outcome == "retry" || a.Outcome == "fail") && a.Reason == nil {
		return InvalidAnswer(a.Outcome + " needs a reason")
	}
	for _, check := range []error{checkDuration("after", a.After), checkDuration("within", a.Within), a.checkWait(), a.checkValues()} {
		if check != nil {
			return check
		}
	}
	return nil
}

func checkDuration(name string, text *string) error {
	if text == nil {
		return nil
	}
	if match := durationForm.FindStringSubmatch(*text); match != nil {
		number, err := strconv.ParseUint(match[1], 10, 64)
		if err == nil && number <= math.MaxUint64/unitsMillis[match[2]] {
			return nil
		}
	}
	return InvalidAnswer(name + " must be a whole number and a unit, such as 250ms, 10s, 5m, 24h or 90d")
}

func (a Answer) checkWait() error {
	if a.Outcome != "wait" {
		return nil
	}
	if (a.After == nil) == (a.Signal == nil) {
		return InvalidAnswer("wait needs after or signal, and not both")
	}
	if a.Signal == nil && a.Within != nil {
		return InvalidAnswer("within needs signal")
	}
	if a.Signal != nil {
		if err := checkKey("signal", *a.Signal); err != nil {
			return err
		}
	}
	switch progress := a.Progress.(type) {
	case nil:
		return nil
	case string:
		if progress != "" {
			return nil
		}
	case int:
		if 0 <= progress && progress <= 100 {
			return nil
		}
	case float64:
		if 0 <= progress && progress <= 100 {
			return nil
		}
	}
	return InvalidAnswer("progress must be a number from 0 to 100 or a text")
}

func (a Answer) checkValues() error {
	for key := range a.Secrets {
		if err := checkKey("a key of secrets", key); err != nil {
			return err
		}
	}
	for key, value := range a.Facts {
		if err := checkKey("a key of facts", key); err != nil {
			return err
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			return InvalidAnswer("facts must be JSON")
		}
		if isDeeper(encoded, depthMax) {
			return InvalidAnswer(fmt.Sprintf("facts may be nested %d times and not more", depthMax))
		}
	}
	return nil
}

func checkKey(what, key string) error {
	length := utf8.RuneCountInString(key)
	if length == 0 || length > keyCharsMax || strings.IndexFunc(key, unicode.IsControl) >= 0 {
		return InvalidAnswer(fmt.Sprintf("%s must have 1 to %d characters that can be read", what, keyCharsMax))
	}
	return nil
}

func isDeeper(encoded []byte, than int) bool {
	depth, tokens := 0, json.NewDecoder(bytes.NewReader(encoded))
	for {
		token, err := tokens.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > than {
				return true
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

func (a Answer) encode() ([]byte, error) {
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.Reason != nil && utf8.RuneCountInString(*a.Reason) > reasonCharsMax {
		a.Reason = optional(string([]rune(*a.Reason)[:reasonCharsMax-1]) + "…")
	}
	body, err := json.Marshal(a.given())
	if err != nil {
		return nil, InvalidAnswer("facts must be JSON")
	}
	if len(body) > answerBytesMax {
		return nil, InvalidAnswer(fmt.Sprintf("the answer is longer than %d bytes", answerBytesMax))
	}
	return body, nil
}

// The call ----------------------------------------------------------------------------------------------------------

// Operation is the operation that the step belongs to. What is not known is empty.
type Operation struct {
	ID              string `json:"id"`
	Workflow        string `json:"workflow"`
	WorkflowVersion int64  `json:"workflow_version"`
	Tenant          string `json:"tenant"`
	Resource        string `json:"resource"`
	CreatedAt       string `json:"created_at"`
	DeadlineAt      string `json:"deadline_at"`
}

// Signal is the signal that ended the wait of this step.
type Signal struct {
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload"`
}

// Call is one call of the engine. It may hold secrets: do not log it.
type Call struct {
	Action    string // "run" or "undo"
	Step      string
	Attempt   int64
	Operation Operation
	Key       string // the idempotency key: the same for every attempt, and for the undo of this run
	Params    json.RawMessage
	Facts     map[string]Facts // of the steps before, by the name of the step
	Own       Own              // what this step answered before
	Signal    *Signal
	// POST to SignalURL followed by a key, with SignalToken as bearer token, sends a signal.
	SignalURL   string
	SignalToken string
}

// Own is what this step answered before.
type Own struct {
	Facts   Facts   `json:"facts"`
	Secrets Secrets `json:"secrets"`
}

// String hides what may be secret.
func (c *Call) String() string {
	return fmt.Sprintf("%s %s attempt %d of operation %s", c.Action, c.Step, c.Attempt, c.Operation.ID)
}

// Params reads the params of the call into a type of yours.
func Params[T any](call *Call) (T, error) {
	var params T
	if err := json.Unmarshal(call.Params, &params); err != nil {
		return params, Fail("the params do not have the form that the service expects")
	}
	return params, nil
}

// InvalidCall: the body of a request is no call. It names the field and repeats no value.
type InvalidCall string

func (e InvalidCall) Error() string { return string(e) }

// ParseCall reads the body of a request. Fields that are not known are ignored.
func ParseCall(body []byte) (*Call, error) {
	var outer map[string]json.RawMessage
	if !json.Valid(body) {
		return nil, InvalidCall("the body is not JSON")
	}
	if err := json.Unmarshal(body, &outer); err != nil || outer == nil {
		return nil, InvalidCall("the body is not a JSON object")
	}
	call := &Call{Params: json.RawMessage("{}"), Facts: map[string]Facts{}}
	operation, version := map[string]json.RawMessage{}, int64(0)
	own, signal := map[string]json.RawMessage{}, map[string]json.RawMessage(nil)
	read := reader{values: outer}
	read.into("version", &version, "a whole number", true)
	if read.err == nil && version != callVersion {
		return nil, InvalidCall(fmt.Sprintf("version must be %d", callVersion))
	}
	read.into("action", &call.Action, "a text", true)
	if read.err == nil && call.Action != "run" && call.Action != "undo" {
		return nil, InvalidCall("action must be run or undo")
	}
	read.into("step", &call.Step, "a text", true)
	read.into("attempt", &call.Attempt, "a whole number", true)
	if read.err == nil && call.Attempt < 1 {
		return nil, InvalidCall("attempt must be 1 or more")
	}
	read.into("idempotency_key", &call.Key, "a text", true)
	read.into("operation", &operation, "an object", true)
	read.into("facts", &call.Facts, "an object for each step", false)
	read.into("own", &own, "an object", false)
	read.into("signal", &signal, "an object", false)
	read.into("signal_url", &call.SignalURL, "a text", false)
	read.into("signal_token", &call.SignalToken, "a text", false)
	var params map[string]json.RawMessage
	read.into("params", &params, "an object", false)
	if params != nil {
		call.Params = outer["params"]
	}
	read = reader{values: operation, path: "operation.", err: read.err}
	read.into("id", &call.Operation.ID, "a text", true)
	read.into("workflow", &call.Operation.Workflow, "a text", true)
	read.into("workflow_version", &call.Operation.WorkflowVersion, "a whole number", true)
	read.into("tenant", &call.Operation.Tenant, "a text", false)
	read.into("resource", &call.Operation.Resource, "a text", false)
	read.into("created_at", &call.Operation.CreatedAt, "a text", false)
	read.into("deadline_at", &call.Operation.DeadlineAt, "a text", false)
	read = reader{values: own, path: "own.", err: read.err}
	read.into("facts", &call.Own.Facts, "an object", false)
	read.into("secrets", &call.Own.Secrets, "an object of texts", false)
	if signal != nil {
		call.Signal = &Signal{Payload: signal["payload"]}
		read = reader{values: signal, path: "signal.", err: read.err}
		read.into("key", &call.Signal.Key, "a text", true)
	}
	if read.err != nil {
		return nil, read.err
	}
	return call, nil
}

// reader reads fields until the first that is wrong.
type reader struct {
	values map[string]json.RawMessage
	path   string
	err    error
}

func (r *reader) into(name string, target any, kind string, isRequired bool) {
	value, isThere := r.values[name]
	isNull := !isThere || string(value) == "null"
	switch {
	case r.err != nil || isNull && !isRequired:
	case isNull || isRequired && string(value) == `""` || json.Unmarshal(value, target) != nil:
		r.err = InvalidCall(r.path + name + " must be " + kind)
	}
}

// The signature -----------------------------------------------------------------------------------------------------

// ReadSecret reads the secret in a file, without the line end.
func ReadSecret(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimRight(string(text), "\r\n"), err
}

// Sign makes the header Provision-Engine-Signature for a body.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "v1=" + hex.EncodeToString(mac.Sum(nil))
}

// Verify says what is wrong with the signature of a request. It may list several, separated by commas.
func Verify(secrets []string, timestamp, signature string, body []byte, now time.Time) error {
	if timestamp == "" || signature == "" {
		return errors.New("the headers Provision-Engine-Timestamp and Provision-Engine-Signature are needed")
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || !timestampForm.MatchString(timestamp) {
		return errors.New("Provision-Engine-Timestamp must be seconds since 1970")
	}
	var candidates [][]byte
	for index, one := range strings.Split(signature, ",") {
		if one = strings.TrimSpace(one); index < signaturesMax && signatureForm.MatchString(one) {
			candidates = append(candidates, []byte(one))
		}
	}
	if candidates == nil {
		return errors.New("Provision-Engine-Signature must be v1= and 64 hexadecimal digits")
	}
	isRight := false
	for _, secret := range secrets {
		expected := []byte(Sign(secret, timestamp, body))
		for _, candidate := range candidates {
			isRight = hmac.Equal(expected, candidate) || isRight
		}
	}
	if !isRight {
		return errors.New("the signature is wrong: engine and service must have the same secret")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > ageMax || age < -ageMax {
		return errors.New("the timestamp is more than 5 minutes away: compare the clocks of engine and service")
	}
	return nil
}

// Stores ------------------------------------------------------------------------------------------------------------

// Store keeps answers by key. Its methods are called from several goroutines.
type Store interface {
	// Get returns what was put under the key, or nil.
	Get(key string) ([]byte, error)
	// Put keeps an answer. It must survive a crash once this returns, if anything is to survive.
	Put(key string, answer []byte) error
	// IsFirst says whether this signature was not seen before. It is remembered until a time. It must be atomic.
	IsFirst(signature string, now, until time.Time) (bool, error)
}

type signatureEnd struct {
	signature string
	until     time.Time
}

// MemoryStore keeps answers in memory, the newest 10,000.
type MemoryStore struct {
	mutex   sync.Mutex
	keptMax int
	answers map[string][]byte
	order   []string
	seen    map[string]bool
	ends    []signatureEnd
}

// NewMemoryStore makes an empty store.
func NewMemoryStore() *MemoryStore { return newMemoryStore(keptMax) }

func newMemoryStore(keptMax int) *MemoryStore {
	return &MemoryStore{keptMax: keptMax, answers: map[string][]byte{}, seen: map[string]bool{}}
}

func (s *MemoryStore) Get(key string) ([]byte, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.answers[key], nil
}

func (s *MemoryStore) Put(key string, answer []byte) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, isKnown := s.answers[key]; !isKnown {
		s.order = append(s.order, key)
	}
	s.answers[key] = answer
	if len(s.order) > s.keptMax {
		delete(s.answers, s.order[0])
		s.order = s.order[1:]
	}
	return nil
}

func (s *MemoryStore) IsFirst(signature string, now, until time.Time) (bool, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for len(s.ends) > 0 && s.ends[0].until.Before(now) {
		delete(s.seen, s.ends[0].signature)
		s.ends = s.ends[1:]
	}
	if s.seen[signature] {
		return false, nil
	}
	s.seen[signature] = true
	s.ends = append(s.ends, signatureEnd{signature, until})
	return true, nil
}

// FileStore keeps answers for 30 days in a file with a line for each, for one process. What is older leaves it at a start.
type FileStore struct {
	memory *MemoryStore
	mutex  sync.Mutex
	file   *os.File
}

type fileLine struct {
	Key    string          `json:"key"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Until  int64           `json:"until"`
}

// NewFileStore opens or makes the file.
func NewFileStore(path string) (*FileStore, error) { return newFileStore(path, time.Now()) }

func newFileStore(path string, now time.Time) (*FileStore, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	store := &FileStore{memory: newMemoryStore(math.MaxInt)}
	var kept bytes.Buffer
	lines := strings.SplitAfter(string(text), "\n")
	for _, text := range lines[:len(lines)-1] { // a cut last line never counted
		var line fileLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			return nil, fmt.Errorf("%s is not a file of answers: %w", path, err)
		}
		if line.Until < now.Unix() {
			continue
		}
		kept.WriteString(text)
		if line.Answer != nil {
			_ = store.memory.Put(line.Key, line.Answer)
		} else {
			_, _ = store.memory.IsFirst(line.Key, now, time.Unix(line.Until, 0))
		}
	}
	if err := replaceFile(path, kept.Bytes()); err != nil {
		return nil, err
	}
	store.file, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	return store, err
}

// replaceFile writes a file anew, for its owner only: answers may hold secrets.
func replaceFile(path string, content []byte) error {
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (s *FileStore) Get(key string) ([]byte, error) { return s.memory.Get(key) }

func (s *FileStore) Put(key string, answer []byte) error {
	if err := s.append(fileLine{key, answer, time.Now().Add(keptFor).Unix()}, true); err != nil {
		return err
	}
	return s.memory.Put(key, answer)
}

func (s *FileStore) IsFirst(signature string, now, until time.Time) (bool, error) {
	isFirst, err := s.memory.IsFirst(signature, now, until)
	if isFirst {
		err = s.append(fileLine{Key: signature, Until: until.Unix()}, false)
	}
	return isFirst, err
}

func (s *FileStore) append(line fileLine, sync bool) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if _, err := s.file.Write(append(text, '\n')); err != nil || !sync {
		return err
	}
	return s.file.Sync()
}

// The service -------------------------------------------------------------------------------------------------------

// Func runs or undoes a step. To find nothing to undo is success.
type Func func(ctx context.Context, call *Call) (Answer, error)

// Service has the steps of one workflow. It is an http.Handler.
type Service struct {
	workflow string
	secrets  []string
	store    Store
	logf     func(format string, arguments ...any)
	readMax  time.Duration
	steps    map[string][2]Func
	mutex    sync.Mutex
	busy     map[string]bool
}

// Option changes a Service.
type Option func(*Service)

// WithStore keeps the answers of finished steps elsewhere than in memory.
func WithStore(store Store) Option { return func(s *Service) { s.store = store } }

// WithOldSecret accepts another secret, too, while a secret is replaced.
func WithOldSecret(secret string) Option {
	return func(s *Service) { s.secrets = append(s.secrets, secret) }
}

// WithLog gets one line for each call and for each error. The default is log.Printf.
func WithLog(logf func(format string, arguments ...any)) Option {
	return func(s *Service) { s.logf = logf }
}

// New makes a service without steps.
func New(workflow, secret string, options ...Option) (*Service, error) {
	service := &Service{workflow: workflow, secrets: []string{secret}, logf: log.Printf, readMax: readMax}
	service.steps, service.busy = map[string][2]Func{}, map[string]bool{}
	for _, option := range options {
		option(service)
	}
	for _, secret := range service.secrets {
		if len(secret) < secretBytesMin {
			return nil, fmt.Errorf("the secret must have %d characters or more, such as those of: openssl rand -hex 32", secretBytesMin)
		}
	}
	if service.store == nil {
		service.store = NewMemoryStore()
	}
	return service, nil
}

// Step adds a step. undo is nil where there is nothing to undo. It panics for a name that is there already.
func (s *Service) Step(name string, run, undo Func) {
	if _, isThere := s.steps[name]; isThere || run == nil {
		panic("the step " + name + " needs one function to run it")
	}
	s.steps[name] = [2]Func{run, undo}
}

func refuse(status int, reason string) (int, []byte) {
	body, _ := json.Marshal(map[string]string{"reason": reason})
	return status, body
}

// Handle answers one request: its two headers and its body as it arrived. The status comes with a body of JSON.
func (s *Service) Handle(ctx context.Context, timestamp, signature string, body []byte, now time.Time) (int, []byte) {
	status, answer := s.handle(ctx, timestamp, signature, body, now)
	if status != http.StatusOK {
		s.logf("refused with %d: %s", status, answer)
	}
	return status, answer
}

func (s *Service) handle(ctx context.Context, timestamp, signature string, body []byte, now time.Time) (int, []byte) {
	if len(body) > bodyBytesMax {
		return refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", bodyBytesMax))
	}
	if err := Verify(s.secrets, timestamp, signature, body, now); err != nil {
		return refuse(http.StatusUnauthorized, err.Error())
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	isFirst, err := s.store.IsFirst(Sign(s.secrets[0], timestamp, body), now, time.Unix(seconds+1, 0).Add(ageMax))
	if err != nil {
		return s.storeFailed(err)
	}
	if !isFirst {
		return refuse(http.StatusTooEarly, "this request was received before")
	}
	call, err := ParseCall(body)
	if err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	began := time.Now()
	outcome, answer, err := s.answer(ctx, call)
	if err != nil {
		return s.storeFailed(err)
	}
	s.logf("%s: %s in %d ms", call, outcome, time.Since(began).Milliseconds())
	return http.StatusOK, answer
}

// TryStep calls a step without HTTP and signature, for tests. more is fields of the call, such as "action": "undo".
func (s *Service) TryStep(ctx context.Context, step string, params any, more map[string]any) (Answer, error) {
	fields := map[string]any{
		"version": callVersion, "action": "run", "step": step, "attempt": 1, "idempotency_key": "test-" + step, "params": params,
		"operation": map[string]any{"id": "test", "workflow": s.workflow, "workflow_version": 1},
	}
	for name, value := range more {
		fields[name] = value
	}
	var answer Answer
	body, err := json.Marshal(fields)
	if err != nil {
		return answer, err
	}
	call, err := ParseCall(body)
	if err != nil {
		return answer, err
	}
	_, encoded, err := s.answer(ctx, call)
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(encoded, &answer)
}

func (s *Service) storeFailed(err error) (int, []byte) {
	s.logf("the store failed: %v", err)
	return refuse(http.StatusServiceUnavailable, "the store of the service failed; its log has more")
}

func (s *Service) answer(ctx context.Context, call *Call) (string, []byte, error) {
	if call.Operation.Workflow != s.workflow {
		return own(Retry("this service has the steps of "+s.workflow+" and of no other workflow", 0))
	}
	run := s.steps[call.Step][0]
	if call.Action == "undo" {
		run = s.steps[call.Step][1]
	}
	if run == nil {
		return own(Retry("this service has no function for "+call.Action+" of the step "+call.Step, 0))
	}
	s.mutex.Lock()
	isBusy := s.busy[call.Key]
	s.busy[call.Key] = true
	s.mutex.Unlock()
	if isBusy {
		return own(Wait(time.Second).WithReason("an earlier call of this step is still running"))
	}
	defer func() {
		s.mutex.Lock()
		delete(s.busy, call.Key)
		s.mutex.Unlock()
	}()
	return s.once(ctx, call, run)
}

// own encodes an answer of this file, which is always valid.
func own(answer Answer) (string, []byte, error) {
	body, err := answer.encode()
	return answer.Outcome, body, err
}

// once finds the answer that is kept for the key, or makes a new one.
func (s *Service) once(ctx context.Context, call *Call, run Func) (string, []byte, error) {
	undoBegun, kept := call.Key+"/undo-begun", call.Key+"/"+call.Action
	if call.Action == "run" {
		if begun, err := s.store.Get(undoBegun); err != nil || begun != nil {
			outcome, body, _ := own(failed("this step was undone before; the call is too late"))
			return outcome, body, err
		}
	}
	if known, err := s.store.Get(kept); err != nil || known != nil {
		return "the answer before", known, err
	}
	if call.Action == "undo" {
		if err := s.store.Put(undoBegun, []byte("{}")); err != nil {
			return "", nil, err
		}
	}
	answer := s.call(ctx, call, run)
	body, err := answer.encode()
	if err != nil {
		s.logf("%s: the answer is not valid: %v", call, err)
		return own(Retry("the answer of the service is not valid: "+err.Error(), 0))
	}
	if answer.Outcome == "done" || answer.Outcome == "skip" {
		err = s.store.Put(kept, body)
	}
	return answer.Outcome, body, err
}

func failed(reason string) Answer { return Answer{Outcome: "fail", Reason: &reason} }

func (s *Service) call(ctx context.Context, call *Call, run Func) (answer Answer) {
	defer func() {
		if panicked := recover(); panicked != nil {
			s.logf("%s: panic: %v\n%s", call, panicked, debug.Stack())
			answer = Retry("panic in "+call.Action+" of "+call.Step+"; the log of the service has more", 0)
		}
	}()
	answer, err := run(ctx, call)
	var fail *failError
	var retry *retryError
	switch {
	case err == nil:
		return answer
	case errors.As(err, &fail):
		return failed(fail.reason)
	case errors.As(err, &retry):
		return Retry(retry.reason, retry.after)
	}
	s.logf("%s: %v", call, err)
	return Retry(fmt.Sprintf("%T in %s of %s; the log of the service has more", err, call.Action, call.Step), 0)
}

// ServeHTTP answers calls on every path, and GET /health.
func (s *Service) ServeHTTP(writer http.ResponseWriter, request *http.Request) {
	status, answer := http.StatusNotFound, []byte(`{"reason": "steps are called with POST"}`)
	if request.Method == http.MethodGet && request.URL.Path == "/health" {
		status, answer = http.StatusOK, []byte(`{"status": "ok"}`)
	} else if request.Method == http.MethodPost {
		body, err := io.ReadAll(http.MaxBytesReader(writer, request.Body, bodyBytesMax))
		var tooLong *http.MaxBytesError
		switch {
		case errors.As(err, &tooLong):
			status, answer = refuse(http.StatusRequestEntityTooLarge, err.Error())
		case err != nil:
			return // the client left, or was too slow
		default:
			timestamp := request.Header.Get("Provision-Engine-Timestamp")
			signatures := strings.Join(request.Header.Values("Provision-Engine-Signature"), ",")
			// What the function does goes on when the connection is cut: its answer is kept for the next call.
			status, answer = s.Handle(context.Background(), timestamp, signatures, body, time.Now())
		}
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	writer.WriteHeader(status)
	_, _ = writer.Write(answer)
}

// ListenAndServe serves until the context ends, then lets the calls that run finish. It prints its address. Port 0 is
// any free port. For a stop by signals, use signal.NotifyContext.
func (s *Service) ListenAndServe(ctx context.Context, address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("%s: http://%s/\n", s.workflow, listener.Addr())
	return s.Serve(ctx, listener)
}

// Serve is ListenAndServe with a listener of yours.
func (s *Service) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: s, ReadTimeout: s.readMax, IdleTimeout: idleMax, MaxHeaderBytes: headerBytesMax}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	within, cancel := context.WithTimeout(context.Background(), stopMax)
	defer cancel()
	return server.Shutdown(within)
}
