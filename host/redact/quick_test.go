package redact

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestQuickLookMissesNothing holds the quick look at a result against the slow
// one: what the slow one would change, the quick one must not let pass.
func TestQuickLookMissesNothing(t *testing.T) {
	token := "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
	for _, text := range []string{
		`{"a":"` + token + `"}`,
		`{"a":["x",{"b":"see ` + token + ` there"}]}`,
		`{"` + token + `":1}`,
		`{"a":"\u0067hp_abcdefghijklmnopqrstuvwxyz0123456789"}`,
		`{"a":"https:\/\/hooks.slack.com\/services\/T00000000\/B00000000\/XXXXXXXXXXXXXXXXXXXXXXXX"}`,
		`{"a":"https://ada:hunter2@tracker.example/"}`,
		`{"a":"Authorization: Bearer abcdefgh12345678"}`,
		`{"a":"X-Api-Key: 12345678"}`,
		`{"a":"/issues?csrf_token=abcdef123456"}`,
		`{"a":"next%3Dsession%3Dabcdef"}`,
		`{"a":"{\"password\": \"hunter22\"}"}`,
		`{"a":"<input name=csrf value=abcdef>"}`,
		`{"a":"Cookie: sid=1"}`,
		`{"a":"Cookie: abcdef"}`,
		`{"a":"SET-COOKIE: abcdef"}`,
		`{"a":"see x-auth: abcdef"}`,
	} {
		r := New()
		quick, err := r.Result(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		slow, err := r.json(json.RawMessage(text), false)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(slow, []byte(text)) {
			t.Fatalf("the slow look leaves %s alone: the test is of no use", text)
		}
		if !bytes.Equal(quick, slow) {
			t.Errorf("the quick look makes %s of %s, want %s", quick, text, slow)
		}
	}
}

func TestQuickLookKnowsTypedSecrets(t *testing.T) {
	r := New("correct horse")
	got, err := r.Result(json.RawMessage(`{"a":"the correct horse staple"}`))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(got, []byte("correct horse")) {
		t.Errorf("a known secret is in %s", got)
	}
}

func TestQuickLookLeavesTheRestAlone(t *testing.T) {
	const text = `{ "b" : "plain ü 🌉 \n text", "a":[1.50,null,true] }`
	if got, err := New().Result(json.RawMessage(text)); err != nil || string(got) != text {
		t.Errorf("Result = %s, %v", got, err)
	}
	if _, err := New().Result(json.RawMessage(`{"a":"b=c`)); err == nil {
		t.Error("broken JSON was accepted")
	}
}
