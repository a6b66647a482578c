// Package sdk is what a connector written in Go imports.
//
// A connector is a main package with two exported functions and a list of
// tools, each an ordinary typed function:
//
//	func plugin() sdk.Plugin {
//		return sdk.Plugin{sdk.Tool("tracker.list", list)}
//	}
//
//	//go:wasmexport call
//	func call() int32 { return plugin().Call() }
//
//	//go:wasmexport describe
//	func describe() int32 { return plugin().Describe() }
//
//	func main() {}
//
//	func list(ctx *sdk.Context, in listInput) (listOutput, error) {
//		res, err := ctx.Read(
//			sdk.Navigate("/issues"),
//			sdk.Extract("issues", sdk.List("tr.issue", sdk.Int("id", "td.id"), sdk.Text("title", "td.title"))),
//		)
//		if err != nil {
//			return listOutput{}, err
//		}
//		issues, err := sdk.Rows[issue](res, "issues")
//		return listOutput{Issues: issues}, err
//	}
//
// and is built with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -trimpath -ldflags="-s -w" -o connector.wasm .
//
// # Imports are capabilities
//
// The host serves exactly the imports that a module has, and a module's imports
// must equal the capabilities in its plugin.yaml. [Context.Read], [Context.Act],
// [Context.Screenshot], [Context.Fetch] and [Context.Progress] each reach one import, and the linker
// drops the ones that a connector never calls. Packages that look methods up by
// name at run time (text/template) defeat the linker; the build then reports
// the surplus import.
//
// # Calls are trips
//
// Each Read, Act or Fetch is one trip to the host, at most [abi.MaxHostCalls] in
// a call, each with up to [abi.MaxSteps] steps. Put steps that belong together
// into one trip. The first step that fails ends it, and its error tells which.
//
// # Errors
//
// Return what the SDK gave you, or make one with [NotFound], [InvalidArgs] and
// their like. Any other error reaches the caller as invalid_result with its
// text. A panic ends the instance, and the caller gets guest_trap.
//
// # Tests
//
// Outside WASM the package compiles too, without a host behind it: package
// sdktest plays the host, so that a connector's tests are ordinary Go tests.
package sdk
