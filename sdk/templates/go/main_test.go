package main

import (
	"context"
	"os"
	"testing"

	"{{slug}}/steps"
)

type fields = map[string]any

func service(t *testing.T) (func(step string, more fields) steps.Answer, string) {
	t.Helper()
	data := t.TempDir()
	service, err := databaseService("a secret that is used by this test only", files(data))
	if err != nil {
		t.Fatal(err)
	}
	return func(step string, more fields) steps.Answer {
		t.Helper()
		answer, err := service.TryStep(context.Background(), step, params{Team: "red"}, more)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}, data
}

func TestWhatIsCreatedCanBeUndone(t *testing.T) {
	try, data := service(t)
	reserved := try("reserve", nil)
	created := try("create", fields{"facts": fields{"reserve": reserved.Facts}})
	if created.Facts["host"] != "red-db.example" {
		t.Errorf("%v", created.Facts)
	}
	for _, step := range []string{"create", "reserve"} {
		if undone := try(step, fields{"action": "undo"}); undone.Outcome != "done" {
			t.Errorf("%v", undone)
		}
	}
	if left, err := os.ReadDir(data); err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestANameThatIsTakenFails(t *testing.T) {
	try, _ := service(t)
	try("reserve", nil)
	if again := try("reserve", fields{"idempotency_key": "another"}); again.Outcome != "fail" {
		t.Errorf("%v", again)
	}
}

func TestApprovalIsASignal(t *testing.T) {
	try, _ := service(t)
	if waiting := try("approve", nil); waiting.Signal == nil || *waiting.Signal != "approved" {
		t.Errorf("%v", waiting)
	}
	approved := try("approve", fields{"signal": fields{"key": "approved", "payload": fields{"by": "ann"}}})
	if approved.Facts["by"] != "ann" {
		t.Errorf("%v", approved.Facts)
	}
}
