//! Connections that can be cut in the middle of a call, so that the caller never gets an answer.
//!
//! A handler of an HTTP server can only answer. To lose an answer for good, the socket itself has to refuse
//! to carry it: after `cut`, every write fails, so the server closes the connection and not one byte goes
//! out.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// The handle by which a call reaches the connection it came in on.
#[derive(Debug, Clone, Default)]
pub(crate) struct Connection {
    is_cut: Arc<AtomicBool>,
}

impl Connection {
    pub(crate) fn cut(&self) {
        self.is_cut.store(true, Ordering::Release);
    }

    fn check(&self) -> io::Result<()> {
        if self.is_cut.load(Ordering::Acquire) {
            return Err(io::Error::new(io::ErrorKind::ConnectionReset, "cut on demand"));
        }
        Ok(())
    }
}

impl Connected<IncomingStream<'_, CuttingListener>> for Connection {
    fn connect_info(stream: IncomingStream<'_, CuttingListener>) -> Self {
        stream.io().connection.clone()
    }
}

pub(crate) struct CuttingListener {
    listener: TcpListener,
}

impl CuttingListener {
    pub(crate) fn new(listener: TcpListener) -> Self {
        CuttingListener { listener }
    }
}

impl Listener for CuttingListener {
    type Io = CuttingStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (CuttingStream, SocketAddr) {
        let (stream, addr) = Listener::accept(&mut self.listener).await;
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "setting TCP_NODELAY failed");
        }
        (CuttingStream { stream, connection: Connection::default() }, addr)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

pub(crate) struct CuttingStream {
    stream: TcpStream,
    connection: Connection,
}

impl CuttingStream {
    pub(crate) fn connection(&self) -> Connection {
        self.connection.clone()
    }
}

impl AsyncRead for CuttingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for CuttingStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.connection.check()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.connection.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.check()?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
