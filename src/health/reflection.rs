//! `grpc.reflection`: what is served here, for grpcurl and its like. v1 and v1alpha are the same on the wire.
//!
//! It tells of this port alone. What the app serves, the app tells.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame};
use prost::bytes::Buf;
use tonic::Code;

use super::grpc::{Failure, Frames, decode, framed, ok};
use super::wire::reflection::server_reflection_request::MessageRequest;
use super::wire::reflection::server_reflection_response::MessageResponse;
use super::wire::reflection::{
    ErrorResponse, ExtensionNumberResponse, FileDescriptorResponse, ListServiceResponse,
    ServerReflectionRequest, ServerReflectionResponse, ServiceResponse,
};

/// A proto file served here.
struct File {
    name: &'static str,
    /// A google.protobuf.FileDescriptorProto.
    descriptor: &'static [u8],
    services: &'static [&'static str],
    symbols: &'static [&'static str],
}

const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/reflected.rs"));

/// The questions of one call, answered in their order.
pub(super) struct Answers<B> {
    questions: Pin<Box<B>>,
    frames: Frames,
    /// Taken before the next question is read, so that nothing piles up.
    waiting: VecDeque<Bytes>,
}

impl<B: Body> Answers<B> {
    pub(super) fn new(questions: B, frames: Frames) -> Self {
        Self {
            questions: Box::pin(questions),
            frames,
            waiting: VecDeque::new(),
        }
    }

    /// The next answer, or the end of the call.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Frame<Bytes>> {
        let end = loop {
            if let Some(answer) = self.waiting.pop_front() {
                return Poll::Ready(Frame::data(answer));
            }
            match ready!(self.questions.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data()
                        && let Err(failure) = self.take(data)
                    {
                        break failure.trailers();
                    }
                }
                None if self.frames.is_empty() => break ok(),
                None | Some(Err(_)) => {
                    break Failure::new(Code::Internal, "the request ends before its message does")
                        .trailers();
                }
            }
        };
        Poll::Ready(Frame::trailers(end))
    }

    fn take(&mut self, mut data: B::Data) -> Result<(), Failure> {
        while data.has_remaining() {
            let piece = data.chunk().len().min(4096);
            self.frames.feed(&data.chunk()[..piece])?;
            data.advance(piece);
            while let Some(message) = self.frames.next()? {
                self.waiting.push_back(framed(&answer(decode(message)?)));
            }
        }
        Ok(())
    }
}

fn answer(request: ServerReflectionRequest) -> ServerReflectionResponse {
    let answer = match &request.message_request {
        Some(MessageRequest::FileByFilename(name)) => described(|file| file.name == name),
        Some(MessageRequest::FileContainingSymbol(symbol)) => {
            described(|file| file.symbols.contains(&symbol.as_str()))
        }
        Some(MessageRequest::ListServices(_)) => {
            let services = FILES.iter().flat_map(|file| file.services);
            let service = services.map(|name| ServiceResponse {
                name: (*name).to_owned(),
            });
            MessageResponse::ListServicesResponse(ListServiceResponse {
                service: service.collect(),
            })
        }
        Some(MessageRequest::AllExtensionNumbersOfType(name)) if is_known(name) => {
            MessageResponse::AllExtensionNumbersResponse(ExtensionNumberResponse {
                base_type_name: name.clone(),
                extension_number: Vec::new(),
            })
        }
        Some(MessageRequest::AllExtensionNumbersOfType(_) | MessageRequest::FileContainingExtension(_)) => {
            failed(Code::NotFound, "no such extension here")
        }
        None => failed(Code::InvalidArgument, "no question that is known here"),
    };
    ServerReflectionResponse {
        valid_host: request.host.clone(),
        original_request: Some(request),
        message_response: Some(answer),
    }
}

fn is_known(symbol: &str) -> bool {
    FILES.iter().any(|file| file.symbols.contains(&symbol))
}

fn described(wanted: impl Fn(&File) -> bool) -> MessageResponse {
    match FILES.iter().find(|file| wanted(file)) {
        Some(file) => MessageResponse::FileDescriptorResponse(FileDescriptorResponse {
            file_descriptor_proto: vec![file.descriptor.to_vec()],
        }),
        None => failed(Code::NotFound, "nothing of that name here"),
    }
}

fn failed(code: Code, why: &str) -> MessageResponse {
    MessageResponse::ErrorResponse(ErrorResponse {
        error_code: code as i32,
        error_message: why.to_owned(),
    })
}
