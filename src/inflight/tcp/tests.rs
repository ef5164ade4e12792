//! Against real connections of our own network namespace, by both ways to the table.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::socket::{Socket, State};
use super::*;

const AMPLE: Duration = Duration::from_secs(20);

/// Longer than any test: everything that moved is still fresh.
const LONG: Duration = Duration::from_secs(3600);

/// Over as soon as the clock has gone on by so much.
const SHORT: Duration = Duration::from_millis(100);

struct Server {
    listener: TcpListener,
    port: u16,
    /// The port's other family, so that no client of some other test is given it.
    _reserved: Option<TcpListener>,
}

impl Server {
    /// At a port that is nobody's: a connection that an earlier owner of the port closed may still
    /// be sending, and would count.
    async fn start() -> Self {
        loop {
            let mut server = Self::at("127.0.0.1:0").await;
            server._reserved = TcpListener::bind(("::1", server.port)).await.ok();
            let found = look(&mut server.source(Mode::Established, LONG)).await;
            if server._reserved.is_some() && found == Reading::Count(0) {
                return server;
            }
        }
    }

    async fn at(address: &str) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        Self {
            listener,
            port,
            _reserved: None,
        }
    }

    /// A connection, from an address that is not ours alone: both ends are in this process, so
    /// that its client would be taken for our own poll.
    async fn connection(&self) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let (server, _) = self.listener.accept().await.unwrap();
        (client, server)
    }

    fn source(&self, mode: Mode, idle_after: Duration) -> Tcp {
        Tcp::new(TcpConfig {
            ports: vec![self.port],
            idle_after,
            mode,
            ignore_peers: Vec::new(),
        })
    }
}

/// A look that takes none of the process's connections for our own.
async fn look(tcp: &mut Tcp) -> Reading {
    let own = std::mem::take(&mut tcp.own);
    let mut census = Census::new(&tcp.config, &own);
    let read = match tcp.way {
        Way::Netlink => {
            let question = Question {
                ports: &tcp.config.ports,
                mode: tcp.config.mode,
            };
            let counted = netlink::sockets(question, |socket| census.count(socket)).await;
            counted.is_ok()
        }
        // Told twice in a while, as others' sockets come and go (see `proc`).
        Way::Proc => match proc_sockets().await {
            Ok(sockets) => {
                sockets.into_iter().for_each(|socket| census.count(socket));
                true
            }
            Err(_) => false,
        },
    };
    assert!(read, "the table");
    let found = census.finish(&tcp.seen);
    tcp.take(found)
}

async fn proc_sockets() -> std::io::Result<Vec<Socket>> {
    let mut sockets = Vec::new();
    proc::sockets(|socket| {
        if !sockets.contains(&socket) {
            sockets.push(socket);
        }
    })
    .await?;
    Ok(sockets)
}

/// Looks until the reading is this one.
async fn until(tcp: &mut Tcp, wanted: Reading) {
    let end = tokio::time::Instant::now() + Duration::from_secs(60);
    loop {
        let reading = look(tcp).await;
        if reading == wanted {
            return;
        }
        assert!(tokio::time::Instant::now() < end, "{reading}, not {wanted}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_connection_on_which_nothing_moves_becomes_idle() {
    let server = Server::start().await;
    let (mut client, mut app) = server.connection().await;
    let mut fresh = server.source(Mode::Busy, LONG);
    assert_eq!(look(&mut fresh).await, Reading::Count(1));
    let mut busy = server.source(Mode::Busy, SHORT);
    until(&mut busy, Reading::Count(0)).await;
    // A call: a request that the program reads, and an answer.
    client.write_all(b"request").await.unwrap();
    let mut request = [0; 7];
    app.read_exact(&mut request).await.unwrap();
    assert_eq!(look(&mut fresh).await, Reading::Count(1));
    // The program thinks for longer than idleAfter: that is what this mode cannot see.
    until(&mut busy, Reading::Count(0)).await;
    assert_eq!(
        look(&mut server.source(Mode::Established, SHORT)).await,
        Reading::Count(1)
    );
    drop(client);
}

#[tokio::test]
async fn data_that_nobody_read_is_busy_however_old() {
    let server = Server::start().await;
    let (mut client, app) = server.connection().await;
    client.write_all(b"request").await.unwrap();
    for way in [Way::Netlink, Way::Proc] {
        let mut busy = server.source(Mode::Busy, Duration::from_millis(1));
        busy.way = way;
        until(&mut busy, Reading::Count(1)).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!(look(&mut busy).await, Reading::Count(1));
    }
    drop(app);
}

#[tokio::test]
async fn a_full_send_queue_is_busy_however_old() {
    let server = Server::start().await;
    let (client, mut app) = server.connection().await;
    // The client does not read: at some point the program cannot write on.
    let piece = vec![0; 1 << 20];
    while tokio::time::timeout(Duration::from_millis(200), app.write_all(&piece))
        .await
        .is_ok()
    {}
    for way in [Way::Netlink, Way::Proc] {
        let mut busy = server.source(Mode::Busy, Duration::from_millis(1));
        busy.way = way;
        assert_eq!(look(&mut busy).await, Reading::Count(1));
    }
    // The program is through and closes: the kernel sends on, and the call is not over.
    drop(app);
    let mut busy = server.source(Mode::Busy, Duration::from_millis(1));
    assert_eq!(look(&mut busy).await, Reading::Count(1));
    drop(client);
    until(&mut busy, Reading::Count(0)).await;
}

#[tokio::test]
async fn a_half_closed_peer_still_waits_for_its_answer() {
    let server = Server::start().await;
    let (mut client, mut app) = server.connection().await;
    client.write_all(b"last words").await.unwrap();
    client.shutdown().await.unwrap();
    let mut all = Vec::new();
    app.read_to_end(&mut all).await.unwrap();
    let mut established = server.source(Mode::Established, SHORT);
    assert_eq!(look(&mut established).await, Reading::Count(1));
    let mut fresh = server.source(Mode::Busy, LONG);
    assert_eq!(look(&mut fresh).await, Reading::Count(1));
    app.write_all(b"answer").await.unwrap();
    drop(app);
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).await.unwrap();
    until(&mut established, Reading::Count(0)).await;
}

#[tokio::test]
async fn connections_of_our_own_do_not_count() {
    let server = Server::start().await;
    let (client, app) = server.connection().await;
    // Both ends are this process's, and so the client is.
    for mode in [Mode::Busy, Mode::Established] {
        let measured = server.source(mode, LONG).poll(AMPLE).await;
        assert_eq!(measured.reading, Reading::Count(0));
    }
    // Given up, it is still ours as long as the program has its end.
    let mut established = server.source(Mode::Established, LONG);
    established.poll(AMPLE).await;
    drop(client);
    assert_eq!(established.poll(AMPLE).await.reading, Reading::Count(0));
    drop(app);
}

#[tokio::test]
async fn ignored_peers_do_not_count() {
    let server = Server::start().await;
    let _connection = server.connection().await;
    for (peers, count) in [("127.0.0.0/8", 0), ("10.0.0.0/8", 1)] {
        let mut tcp = server.source(Mode::Established, LONG);
        tcp.config.ignore_peers.push(Peers::parse(peers).unwrap());
        assert_eq!(look(&mut tcp).await, Reading::Count(count), "{peers}");
    }
}

#[tokio::test]
async fn ipv4_on_a_socket_of_both_families_counts() {
    let server = Server::at("[::]:0").await;
    let _v4 = server.connection().await;
    let _v6 = TcpStream::connect(("::1", server.port)).await.unwrap();
    for way in [Way::Netlink, Way::Proc] {
        let mut tcp = server.source(Mode::Established, LONG);
        tcp.way = way;
        assert_eq!(look(&mut tcp).await, Reading::Count(2));
    }
}

#[tokio::test]
async fn a_port_that_nobody_listens_on_is_unknown_and_not_zero() {
    let server = Server::start().await;
    let mut before = server.source(Mode::Busy, LONG);
    assert_eq!(look(&mut before).await, Reading::Count(0));
    let port = server.port;
    let config = before.config.clone();
    drop(server);
    // It was there: that it is gone is no mistake.
    until(&mut before, Reading::Count(0)).await;
    let mut never = Tcp::new(config);
    let Reading::Unknown(Unknown(why)) = never.poll(AMPLE).await.reading else {
        panic!("unknown")
    };
    assert_eq!(why, format!("tcp {port}: nothing listens on port {port} here"));
}

#[tokio::test]
async fn without_netlink_idle_is_unknown_and_said_once() {
    let server = Server::start().await;
    let (client, app) = server.connection().await;
    let mut busy = server.source(Mode::Busy, SHORT);
    busy.fall_back("Operation not permitted");
    let reading = look(&mut busy).await;
    let Reading::Unknown(Unknown(why)) = reading else {
        panic!("unknown, not {reading}")
    };
    assert!(
        why.starts_with("/proc/net/tcp does not say when data last moved on 1 of 1 connections"),
        "{why}"
    );
    let note = busy.poll(AMPLE).await.note.unwrap();
    assert!(
        note.starts_with("netlink is refused (Operation not permitted)"),
        "{note}"
    );
    // What does not need times is as good as ever: every connection, and none.
    let mut established = server.source(Mode::Established, SHORT);
    established.way = Way::Proc;
    assert_eq!(look(&mut established).await, Reading::Count(1));
    drop((client, app));
    until(&mut busy, Reading::Count(0)).await;
}

/// The sockets of these ports, in an order of their own and without what differs from look to look:
/// the time, and a listener's queues, which are its backlog for one table and nothing for the other.
fn told(sockets: Vec<Socket>, ports: &[u16]) -> Vec<String> {
    let mut told: Vec<_> = sockets
        .into_iter()
        .filter(|socket| ports.contains(&socket.port))
        .map(|socket| match socket.state {
            State::Listening => format!("{} listens", socket.port),
            state => format!(
                "{} {} {state:?} {} {}",
                socket.port, socket.peer, socket.unread, socket.unacknowledged
            ),
        })
        .collect();
    told.sort();
    told
}

#[tokio::test]
async fn the_kernels_filter_leaves_out_the_other_ports_and_nothing_else() {
    let mut servers = Vec::new();
    let mut connections = Vec::new();
    for address in ["127.0.0.1:0", "[::]:0", "127.0.0.1:0", "127.0.0.1:0"] {
        let server = Server::at(address).await;
        connections.push(server.connection().await);
        connections[0].0.write_all(b"unread").await.unwrap();
        servers.push(server);
    }
    let ports: Vec<_> = servers.iter().map(|server| server.port).collect();
    let ask = async |ports: &[u16], mode| {
        let mut sockets = Vec::new();
        let question = Question { ports, mode };
        netlink::sockets(question, |socket| sockets.push(socket))
            .await
            .unwrap();
        sockets
    };
    for asked in [&ports[..1], &ports[1..2], &ports[..3], &ports[..], &[1, ports[3]]] {
        let whole = told(ask(&[], Mode::Busy).await, asked);
        for mode in [Mode::Busy, Mode::Established] {
            let filtered = ask(asked, mode).await;
            assert!(filtered.iter().all(|socket| asked.contains(&socket.port)));
            let mut open = filtered.iter().filter(|socket| socket.state == State::Open);
            assert!(open.all(|socket| socket.moved.is_some() == (mode == Mode::Busy)));
            assert_eq!(told(filtered, asked), whole, "{asked:?}");
        }
        assert_eq!(told(proc_sockets().await.unwrap(), asked), whole, "{asked:?}");
    }
    // More than the kernel takes at once: it tells all.
    let many: Vec<_> = (1..2000).chain(ports.iter().copied()).collect();
    assert_eq!(
        told(ask(&many, Mode::Busy).await, &ports),
        told(ask(&[], Mode::Busy).await, &ports)
    );
    drop(connections);
}
