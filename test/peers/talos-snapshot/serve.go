package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// The size of Talos' messages (talos: pkg/chunker/stream).
const pieceBytes = 1024

type node struct {
	content string
	replies map[string][]byte
}

// serve prints a line when it listens, and then never ends.
func serve(o options) error {
	transport, err := o.transport(true)
	if err != nil {
		return err
	}
	self := node{content: o.content}
	text, err := os.ReadFile(o.replies)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &self.replies); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	return grpc.NewServer(grpc.Creds(transport), grpc.UnknownServiceHandler(self.answer)).Serve(listener)
}

func (n node) answer(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request emptypb.Empty
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	if method == snapshotMethod {
		return n.sendSnapshot(stream)
	}
	reply, known := n.replies[method]
	if !known {
		return status.Error(codes.Unimplemented, "unknown method "+method)
	}
	// Fields that the message does not have are kept.
	var message emptypb.Empty
	if err := proto.Unmarshal(reply, &message); err != nil {
		return err
	}
	return stream.SendMsg(&message)
}

func (n node) sendSnapshot(stream grpc.ServerStream) error {
	file, err := os.Open(n.content)
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		piece := make([]byte, pieceBytes)
		read, err := io.ReadFull(file, piece)
		if read > 0 {
			if err := stream.SendMsg(&anypb.Any{Value: piece[:read]}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
