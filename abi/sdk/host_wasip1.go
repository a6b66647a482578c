//go:build wasip1

package sdk

import (
	"github.com/extism/go-pdk"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// The host calls. Each takes and returns the offset of a block in the memory
// that the host keeps for both sides. A function here is the only caller of its
// import: what a connector does not reach, the linker drops.

//go:wasmimport drawbridge:host/v1 read
func importRead(offset uint64) uint64

//go:wasmimport drawbridge:host/v1 act
func importAct(offset uint64) uint64

//go:wasmimport drawbridge:host/v1 screenshot
func importScreenshot(offset uint64) uint64

//go:wasmimport drawbridge:host/v1 fetch
func importFetch(offset uint64) uint64

//go:wasmimport drawbridge:host/v1 progress
func importProgress(offset uint64) uint64

// A hostLink leads to the host. Inside WASM there is only one.
type hostLink struct{}

func (hostLink) read(b []byte) []byte       { return trip(b, importRead) }
func (hostLink) act(b []byte) []byte        { return trip(b, importAct) }
func (hostLink) screenshot(b []byte) []byte { return trip(b, importScreenshot) }
func (hostLink) fetch(b []byte) []byte      { return trip(b, importFetch) }
func (hostLink) progress(b []byte) []byte   { return trip(b, importProgress) }
func (hostLink) log(message string)         { pdk.Log(pdk.LogInfo, message) }

func trip(request []byte, hostCall func(uint64) uint64) []byte {
	out := pdk.AllocateBytes(request)
	in := pdk.FindMemory(hostCall(out.Offset()))
	out.Free()
	answer := in.ReadBytes()
	in.Free()
	return answer
}

// Call serves one call. The connector exports it under the name call.
func (p Plugin) Call() int32 {
	pdk.Output(p.serve(hostLink{}, pdk.Input()))
	return 0
}

// Describe tells the host which tools the module serves. The connector exports
// it under the name describe.
func (p Plugin) Describe() int32 {
	p.rehearse()
	pdk.Output(encode(abi.Description{V: abi.Version, Tools: p.Names()}))
	return 0
}
