import type { SecureClientSessionOptions } from 'node:http2';
import { isIPv6 } from 'node:net';
import { connect } from 'node:tls';

/**
 * Options of an HTTP/2 client whose requests name an IPv6 host in brackets, as URLs do. Node omits these in
 * `:authority`, where they are required (RFC 9113), and takes the server name instead if there is one
 * (lib/internal/http2/core.js). That one must not reach TLS, which knows no server names for addresses.
 */
export function withHttp2Authority(host: string, options: SecureClientSessionOptions): SecureClientSessionOptions {
  if (!isIPv6(host)) return options;
  const createConnection = ({ port }: URL) => connect({ ...options, host, port: Number(port), ALPNProtocols: ['h2'] });
  return { ...options, servername: `[${host}]`, createConnection };
}
