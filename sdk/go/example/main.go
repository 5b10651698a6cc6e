// The steps of ../../example.yaml. It keeps a ledger of its effects, in place of a real database server.
//
//	openssl rand -hex 32 > acme.secret
//	go run ./example --secret-file acme.secret --data .
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"provision-engine/steps"
)

type params struct {
	Team     string `json:"team"`
	Password string `json:"password"`
	Broken   bool   `json:"broken"`
}

type entry struct {
	Effect string `json:"effect"` // "made" or "removed"
	Kind   string `json:"kind"`
	Key    string `json:"key"`
	Team   string `json:"team"`
}

// ledger is what exists, in a file with a line for each effect. A line is on the disk before an effect counts as made.
type ledger struct {
	mutex sync.Mutex
	state map[string]string
	file  *os.File
}

func openLedger(path string) (*ledger, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	state := map[string]string{}
	for _, line := range bytes.SplitAfter(whole, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var one entry
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, err
		}
		state[one.Key] = one.Effect
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	// After a kill in the middle of a write there is more: this effect never counted.
	return &ledger{state: state, file: file}, file.Truncate(int64(len(whole)))
}

func (l *ledger) make(kind, key, team string) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch l.state[key] {
	case "removed":
		return steps.Fail("removed before")
	case "made":
		return nil
	}
	return l.append(entry{"made", kind, key, team})
}

// remove says whether there was something to remove. The key stays blocked: a late call must not make it again.
func (l *ledger) remove(kind, key, team string) (bool, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.state[key] == "made" {
		return true, l.append(entry{"removed", kind, key, team})
	}
	l.state[key] = "removed"
	return false, nil
}

func (l *ledger) append(one entry) error {
	line, err := json.Marshal(one)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.state[one.Key] = one.Effect
	return nil
}

// undoOf removes what a step made.
func (l *ledger) undoOf(kind string) steps.Func {
	return func(_ context.Context, call *steps.Call) (steps.Answer, error) {
		params, err := steps.Params[params](call)
		if err != nil {
			return steps.Answer{}, err
		}
		wasMade, err := l.remove(kind, call.Key, params.Team)
		if err == nil && !wasMade {
			return steps.Skip("there is no " + kind), nil
		}
		return steps.Done(nil), err
	}
}

func (l *ledger) reserve(_ context.Context, call *steps.Call) (steps.Answer, error) {
	params, err := steps.Params[params](call)
	if err != nil {
		return steps.Answer{}, err
	}
	return steps.Done(steps.Facts{"name": params.Team + "-db"}), l.make("name", call.Key, params.Team)
}

func approve(_ context.Context, call *steps.Call) (steps.Answer, error) {
	if call.Signal == nil {
		return steps.WaitForSignal("approved", 24*time.Hour).WithReason("waiting for an approval").WithProgress("0 of 1 approvals"), nil
	}
	payload := struct {
		Approve *bool  `json:"approve"`
		By      string `json:"by"`
	}{By: "unknown"}
	if len(call.Signal.Payload) > 0 {
		if err := json.Unmarshal(call.Signal.Payload, &payload); err != nil {
			return steps.Answer{}, steps.Fail("the payload of the signal has another form")
		}
	}
	if payload.Approve != nil && !*payload.Approve {
		return steps.Answer{}, steps.Fail("the approval was refused")
	}
	return steps.Done(steps.Facts{"by": payload.By}), nil
}

func (l *ledger) create(_ context.Context, call *steps.Call) (steps.Answer, error) {
	params, err := steps.Params[params](call)
	if err != nil {
		return steps.Answer{}, err
	}
	if params.Password == "" {
		params.Password = "generated"
	}
	answer := steps.Done(steps.Facts{"host": fmt.Sprintf("%s.example", call.Facts["reserve"]["name"])})
	return answer.WithSecrets(steps.Secrets{"password": params.Password}), l.make("database", call.Key, params.Team)
}

func check(_ context.Context, call *steps.Call) (steps.Answer, error) {
	params, err := steps.Params[params](call)
	if err == nil && params.Broken {
		err = steps.Fail("the database does not answer")
	}
	return steps.Done(nil), err
}

func run() error {
	port := flag.Int("port", 8780, "0 takes any free port")
	secretFile := flag.String("secret-file", "acme.secret", "the file with the secret that engine and service share")
	data := flag.String("data", ".", "the directory of ledger.jsonl and answers.jsonl")
	flag.Parse()
	secret, err := steps.ReadSecret(*secretFile)
	if err != nil {
		return err
	}
	store, err := steps.NewFileStore(filepath.Join(*data, "answers.jsonl"))
	if err != nil {
		return err
	}
	ledger, err := openLedger(filepath.Join(*data, "ledger.jsonl"))
	if err != nil {
		return err
	}
	service, err := steps.New("acme.database", secret, steps.WithStore(store))
	if err != nil {
		return err
	}
	service.Step("reserve", ledger.reserve, ledger.undoOf("name"))
	service.Step("approve", approve, nil)
	service.Step("create", ledger.create, ledger.undoOf("database"))
	service.Step("check", check, nil)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return service.ListenAndServe(ctx, fmt.Sprintf("127.0.0.1:%d", *port))
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
