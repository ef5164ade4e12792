use proptest::prelude::*;

use super::*;

fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags, 0, 0, 0, 1]);
    bytes.extend(payload);
    bytes
}

fn literal(first: u8, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    if value.len() < 0x7f {
        bytes.push(value.len() as u8);
    } else {
        bytes.push(0x7f);
        let mut rest = value.len() - 0x7f;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
    bytes.extend(value);
    bytes
}

fn mended(mut bytes: Vec<u8>, piece: usize) -> Vec<u8> {
    let mut mender = Mender::new();
    for piece in bytes.chunks_mut(piece) {
        mender.mend(piece);
    }
    bytes
}

/// A block with the authority between other fields of each kind.
fn block(authority: &[u8]) -> Vec<u8> {
    let mut block = vec![0x83, 0x86, 0x3f, 0x12, 0xff, 0x05];
    block.extend(literal(0x44, b"/grpc.health.v1.Health/Check"));
    block.extend(literal(0x41, authority));
    block.extend([0x40, 4]);
    block.extend(b"name");
    block.extend([5]);
    block.extend(b"value");
    block.extend([0x0f, 0x2b]);
    block.extend([1, b'z']);
    block
}

#[test]
fn only_the_authority_is_overwritten_however_the_bytes_arrive() {
    for path in [
        b"/run/health.sock".to_vec(),
        vec![b'/'; 126],
        vec![b'/'; 127],
        vec![b'/'; 700],
    ] {
        let mut sent = frame(0x4, 0, &[0; 12]);
        sent.extend(frame(HEADERS, 0x4, &block(&path)));
        sent.extend(frame(0x0, 0x1, b"\x41\x03/a/"));
        let mut wanted = frame(0x4, 0, &[0; 12]);
        wanted.extend(frame(HEADERS, 0x4, &block(&vec![b'x'; path.len()])));
        wanted.extend(frame(0x0, 0x1, b"\x41\x03/a/"));
        for piece in [1, 2, 7, 4096] {
            assert_eq!(mended(sent.clone(), piece), wanted);
        }
    }
}

#[test]
fn a_name_spelt_out_is_the_authority_too_and_no_other_name_is() {
    for (name, is_it) in [
        (&b"\x0a:authority"[..], true),
        (b"\x88\xb8\x3b\x53\x39\xec\x32\x7d\x7f", true),
        (b"\x0a:authoritx", false),
        (b"\x0a:buthority", false),
        (b"\x09:authorit", false),
        (b"\x88\xb8\x3b\x53\x39\xec\x32\x7d\x7e", false),
    ] {
        let block = |value: &[u8]| [&[0x40], name, &[3], value, &[0x82]].concat();
        let wanted = if is_it { b"xxx" } else { b"/,/" };
        for piece in [1, 4096] {
            let sent = frame(HEADERS, 0x4, &block(b"/,/"));
            assert_eq!(
                mended(sent, piece),
                frame(HEADERS, 0x4, &block(wanted)),
                "{name:?}"
            );
        }
    }
}

#[test]
fn a_huffman_coded_authority_becomes_a_plain_one() {
    let sent = frame(HEADERS, 0x4, &[0x41, 0x83, 0x12, 0x34, 0x56, 0x82]);
    assert_eq!(mended(sent, 3), frame(HEADERS, 0x4, b"\x41\x03xxx\x82"));
}

#[test]
fn padding_and_priority_are_stepped_over() {
    let mut payload = vec![2, 0, 0, 0, 0, 16];
    payload.extend(literal(0x01, b"/a/b"));
    payload.extend([0x41, 0x01]);
    let mut wanted = payload.clone();
    wanted[8..12].fill(b'x');
    let flags = FLAG_PADDED | FLAG_PRIORITY | 0x4;
    assert_eq!(
        mended(frame(HEADERS, flags, &payload), 1),
        frame(HEADERS, flags, &wanted)
    );
}

#[test]
fn a_block_goes_on_in_its_continuation() {
    let whole = block(b"/run/health.sock");
    let wanted = block(&[b'x'; 16]);
    for cut in 1..whole.len() {
        let mut sent = frame(HEADERS, 0, &whole[..cut]);
        sent.extend(frame(CONTINUATION, 0x4, &whole[cut..]));
        let mut hoped = frame(HEADERS, 0, &wanted[..cut]);
        hoped.extend(frame(CONTINUATION, 0x4, &wanted[cut..]));
        assert_eq!(mended(sent, 5), hoped);
    }
}

proptest! {
    #[test]
    fn any_bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600), piece in 1usize..50) {
        mended(bytes, piece);
    }

    #[test]
    fn any_block_does_no_harm(payload in proptest::collection::vec(any::<u8>(), 0..600), flags: u8) {
        mended(frame(HEADERS, flags, &payload), 64);
    }
}
