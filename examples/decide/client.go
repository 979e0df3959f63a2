// SPDX-License-Identifier: BSL-1.0

// Asks a policy of ration about two nodes with four GPUs each: go run client.go [RATION [POLICY]]
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
)

type row map[string]any

var in *json.Encoder
var out *json.Decoder

func ask(request row) []row {
	var answer struct {
		Grants []row
		Error  row
	}
	if err := in.Encode(request); err != nil {
		log.Fatal(err)
	}
	if err := out.Decode(&answer); err != nil || answer.Error != nil {
		log.Fatal(err, answer.Error)
	}
	for _, g := range answer.Grants { // a scheduler starts, resizes or stops the job here
		fmt.Println(g["job"], "gets", g["amount"], g["resource"], "on", g["node"])
	}
	return answer.Grants // once applied, the next request reports them as held
}

func main() {
	words := []string{"ration", "pack"}
	copy(words, os.Args[1:])
	child := exec.Command(words[0], "decide", words[1])
	stdin, _ := child.StdinPipe()
	stdout, _ := child.StdoutPipe()
	if err := child.Start(); err != nil {
		log.Fatal(err)
	}
	in, out = json.NewEncoder(stdin), json.NewDecoder(stdout)
	jobs := []row{}
	for i, gpus := range []int{4, 2, 4} {
		jobs = append(jobs, row{"id": "abc"[i : i+1], "state": "queued", "request.gpu": gpus})
	}
	held := ask(row{"jobs": jobs, "nodes": []row{{"id": "n1", "capacity.gpu": 4}, {"id": "n2", "capacity.gpu": 4}}})
	running := []row{}
	for _, h := range held {
		running = append(running, row{"id": h["job"], "state": "running"})
	}
	ask(row{"jobs": row{"changed": running}, "held": row{"changed": held}})
	fmt.Println("a ends")
	ask(row{"jobs": row{"removed": []string{"a"}}})
}
