//go:build wasip1

// Echo is a connector as an author would build it with the Go PDK: it hands its
// input to the host call read and returns the answer as its result.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	pdk "github.com/extism/go-pdk"
)

//go:wasmimport drawbridge:host/v1 read
func hostRead(offset uint64) uint64

// calls counts in this instance: it is 1 in every answer, because an instance
// serves one call.
var calls int

//go:wasmexport call
func call() int32 {
	calls++
	in := pdk.AllocateBytes(pdk.Input())
	answer := pdk.FindMemory(hostRead(in.Offset()))
	fmt.Fprintln(os.Stderr, "read answered")
	out := map[string]any{
		"ok":     true,
		"result": json.RawMessage(answer.ReadBytes()),
		"calls":  calls,
		"env":    len(os.Environ()),
	}
	if err := pdk.OutputJSON(out); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

//go:wasmexport describe
func describe() int32 {
	pdk.OutputString(`{"v":1,"tools":["echo.echo"]}`)
	return 0
}

func main() {}
