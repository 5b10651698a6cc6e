// The steps of {{name}}. Files in data/ stand for a real system: replace files.make and files.remove by calls of yours.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"{{slug}}/steps"
)

type params struct {
	Team   string `json:"team"`
	Broken bool   `json:"broken"`
}

// files is a directory with a file for each thing that exists.
type files string

func (f files) path(kind string, call *steps.Call) (string, error) {
	params, err := steps.Params[params](call)
	return filepath.Join(string(f), kind+"-"+params.Team+".json"), err
}

func key(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var made struct{ Key string }
	return made.Key, json.Unmarshal(text, &made)
}

// make creates something once for the key of the call, however often and whenever the process dies.
func (f files) make(kind string, call *steps.Call) error {
	path, err := f.path(kind, call)
	if err != nil {
		return err
	}
	switch made, err := key(path); {
	case err == nil && made == call.Key:
		return nil
	case err == nil:
		return steps.Fail("the " + kind + " of this team exists already")
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	text, err := json.Marshal(map[string]string{"key": call.Key, "operation": call.Operation.ID})
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+"."+call.Key+".new", text, 0o644); err != nil {
		return err
	}
	return os.Rename(path+"."+call.Key+".new", path)
}

// remove removes what make created with the same key. To find nothing is success.
func (f files) remove(kind string) steps.Func {
	return func(_ context.Context, call *steps.Call) (steps.Answer, error) {
		path, err := f.path(kind, call)
		if err != nil {
			return steps.Answer{}, err
		}
		made, err := key(path)
		if errors.Is(err, os.ErrNotExist) || err == nil && made != call.Key {
			return steps.Skip("there is no " + kind + " to remove"), nil
		}
		if err != nil {
			return steps.Answer{}, err
		}
		return steps.Done(nil), os.Remove(path)
	}
}

func (f files) reserve(_ context.Context, call *steps.Call) (steps.Answer, error) {
	params, err := steps.Params[params](call)
	if err != nil {
		return steps.Answer{}, err
	}
	return steps.Done(steps.Facts{"name": params.Team + "-db"}), f.make("name", call)
}

func approve(_ context.Context, call *steps.Call) (steps.Answer, error) {
	if call.Signal == nil {
		return steps.WaitForSignal("approved", 24*time.Hour).WithReason("waiting for an approval"), nil
	}
	approval := struct{ By string }{"unknown"}
	if len(call.Signal.Payload) > 0 && json.Unmarshal(call.Signal.Payload, &approval) != nil {
		return steps.Answer{}, steps.Fail("the payload of the signal has another form")
	}
	return steps.Done(steps.Facts{"by": approval.By}), nil
}

func (f files) create(_ context.Context, call *steps.Call) (steps.Answer, error) {
	answer := steps.Done(steps.Facts{"host": fmt.Sprint(call.Facts["reserve"]["name"], ".example")})
	return answer.WithSecrets(steps.Secrets{"password": "made up"}), f.make("database", call)
}

func check(_ context.Context, call *steps.Call) (steps.Answer, error) {
	params, err := steps.Params[params](call)
	if err == nil && params.Broken {
		err = steps.Fail("the database does not answer")
	}
	return steps.Done(nil), err
}

func databaseService(secret string, data files, options ...steps.Option) (*steps.Service, error) {
	service, err := steps.New("{{name}}", secret, options...)
	if err != nil {
		return nil, err
	}
	service.Step("reserve", data.reserve, data.remove("name"))
	service.Step("approve", approve, nil)
	service.Step("create", data.create, data.remove("database"))
	service.Step("check", check, nil)
	return service, nil
}

func run() error {
	secret, err := steps.ReadSecret("{{name}}.secret")
	if err != nil {
		return err
	}
	if err := os.MkdirAll("data", 0o755); err != nil {
		return err
	}
	store, err := steps.NewFileStore(filepath.Join("data", "answers.jsonl"))
	if err != nil {
		return err
	}
	service, err := databaseService(secret, "data", steps.WithStore(store))
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	return service.ListenAndServe(ctx, "127.0.0.1:8780")
}

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}
