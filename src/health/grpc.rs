//! gRPC's framing on hyper's own bodies: one small message in, one small message or a failure out.
//!
//! The generated server of a gRPC library carries buffers of kilobytes for every open stream, made for
//! messages of any size. Ours are a few bytes, and there may be ten thousand streams.

use std::io::Read;
use std::pin::pin;
use std::time::Duration;

use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use hyper::body::{Body, Bytes};
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response};
use prost::Message;
use prost::bytes::{Buf, BufMut, BytesMut};
use tonic::Code;

/// Bytes of a request message, as it comes and unpacked: a name and its framing.
pub(super) const MAX_REQUEST: usize = 4096;

/// Before each message: whether it is packed, and its length (gRPC over HTTP/2, "Length-Prefixed-Message").
const PREFIX: usize = 5;

/// How long a request may take to arrive whole.
const REQUEST_TIME: Duration = Duration::from_secs(10);

pub(super) const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// A call that failed. The message is plain ASCII without `%`, so that it needs no escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) code: Code,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// As the last thing of a stream.
    pub(super) fn trailers(&self) -> HeaderMap {
        let mut trailers = HeaderMap::with_capacity(2);
        trailers.insert(STATUS, HeaderValue::from(self.code as i32));
        if let Ok(message) = HeaderValue::from_str(&self.message) {
            trailers.insert(MESSAGE, message);
        }
        trailers
    }

    /// As a whole answer ("Trailers-Only").
    pub(super) fn response<B>(&self, empty: B) -> Response<B> {
        let mut response = Response::new(empty);
        *response.headers_mut() = self.trailers();
        response.headers_mut().insert(CONTENT_TYPE, GRPC);
        if self.code == Code::Unimplemented {
            response
                .headers_mut()
                .insert(ACCEPT_ENCODING, HeaderValue::from_static("identity,gzip"));
        }
        response
    }
}

/// The end of a call that succeeded.
pub(super) fn ok() -> HeaderMap {
    let mut trailers = HeaderMap::with_capacity(1);
    trailers.insert(STATUS, HeaderValue::from_static("0"));
    trailers
}

/// An answer that begins.
pub(super) fn response<B>(body: B) -> Response<B> {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, GRPC);
    response
}

/// `message` with its prefix.
pub(super) fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut frame = BytesMut::with_capacity(PREFIX + length);
    frame.put_u8(0);
    // Far below 4 GiB: a hundred names.
    frame.put_u32(u32::try_from(length).unwrap_or(u32::MAX));
    // It fails only for want of room, and there is as much as it asked for.
    let _ = message.encode(&mut frame);
    frame.freeze()
}

/// Reads the one message of `request`.
///
/// # Errors
/// What the caller is to be told.
pub(super) async fn message<M, B>(request: Request<B>) -> Result<M, Failure>
where
    M: Message + Default,
    B: Body,
{
    let packing = Packing::of(request.headers())?;
    let frame = match tokio::time::timeout(REQUEST_TIME, whole(request.into_body())).await {
        Ok(frame) => frame?,
        Err(_) => {
            return Err(Failure::new(
                Code::DeadlineExceeded,
                "the request took too long to arrive",
            ));
        }
    };
    let mut frames = Frames::new(packing);
    frames.feed(&frame)?;
    let message = frames
        .next()?
        .ok_or_else(|| Failure::new(Code::Internal, "the request ends before its message does"))?;
    if !frames.is_empty() {
        return Err(Failure::new(
            Code::Internal,
            "more than one message came, and one was asked for",
        ));
    }
    decode(message)
}

/// `bytes` as a message.
///
/// # Errors
/// INTERNAL, as gRPC has it for what cannot be parsed.
pub(super) fn decode<M: Message + Default>(bytes: Bytes) -> Result<M, Failure> {
    M::decode(bytes).map_err(|_| Failure::new(Code::Internal, "the message cannot be parsed"))
}

/// The body to its end, unless it is too long.
async fn whole<B: Body>(body: B) -> Result<BytesMut, Failure> {
    let mut body = pin!(body);
    let mut whole = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Failure::new(Code::Cancelled, "the request broke off"))?;
        if let Ok(data) = frame.into_data() {
            if whole.len() + data.remaining() > PREFIX + MAX_REQUEST {
                return Err(too_long());
            }
            whole.put(data);
        }
    }
    Ok(whole)
}

fn too_long() -> Failure {
    Failure::new(
        Code::ResourceExhausted,
        format!("a request has at most {MAX_REQUEST} bytes"),
    )
}

/// How packed messages of a call are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Packing {
    /// None may be.
    Plain,
    Gzip,
}

impl Packing {
    /// # Errors
    /// UNIMPLEMENTED for anything but gzip (gRPC, "compression").
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Failure> {
        match headers.get(ENCODING).map(HeaderValue::as_bytes) {
            None | Some(b"identity") => Ok(Self::Plain),
            Some(b"gzip") => Ok(Self::Gzip),
            Some(_) => Err(Failure::new(
                Code::Unimplemented,
                "requests may be packed with gzip",
            )),
        }
    }
}

/// Takes the messages out of a stream of bytes. Holds one message at most.
#[derive(Debug)]
pub(super) struct Frames {
    packing: Packing,
    bytes: BytesMut,
}

impl Frames {
    pub(super) fn new(packing: Packing) -> Self {
        Self {
            packing,
            bytes: BytesMut::new(),
        }
    }

    /// Takes the next bytes that came.
    ///
    /// # Errors
    /// RESOURCE_EXHAUSTED when they are more than may wait.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        // A frame of HTTP/2 has 16 KiB unless we ask for more.
        if self.bytes.len() + bytes.len() > 8 * (PREFIX + MAX_REQUEST) {
            return Err(too_long());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Whether nothing is left, not even the beginning of a message.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next message, unpacked, if it is there whole.
    ///
    /// # Errors
    /// What the caller is to be told; nothing that follows can be understood.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let Some((prefix, _)) = self.bytes.split_first_chunk::<PREFIX>() else {
            return Ok(None);
        };
        let [packed, length @ ..] = *prefix;
        let length = u32::from_be_bytes(length) as usize;
        if length > MAX_REQUEST {
            return Err(too_long());
        }
        if self.bytes.len() < PREFIX + length {
            return Ok(None);
        }
        self.bytes.advance(PREFIX);
        let message = self.bytes.split_to(length).freeze();
        match (packed, self.packing) {
            (0, _) => Ok(Some(message)),
            (1, Packing::Gzip) => unpack(&message).map(Some),
            (1, Packing::Plain) => Err(Failure::new(
                Code::Internal,
                "a packed message without grpc-encoding",
            )),
            _ => Err(Failure::new(Code::Internal, "a message with unknown flags")),
        }
    }
}

fn unpack(message: &[u8]) -> Result<Bytes, Failure> {
    let mut plain = Vec::new();
    let limit = MAX_REQUEST as u64 + 1;
    GzDecoder::new(message)
        .take(limit)
        .read_to_end(&mut plain)
        .map_err(|_| Failure::new(Code::Internal, "the message is not gzip"))?;
    if plain.len() > MAX_REQUEST {
        return Err(too_long());
    }
    Ok(plain.into())
}
