import { once } from 'node:events';
import { connect, createSecureServer, type IncomingHttpHeaders } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { createOtherAuthority, issueServerCertificate } from '../../../test/talos/node-server.ts';
import { toLoadableKey } from '../../talos/secrets/pem.ts';
import { withHttp2Authority } from './http2-authority.ts';

const closings: (() => void)[] = [];
afterEach(() => {
  for (const close of closings.splice(0)) close();
});

/** `:authority` of a request to a server at this address, whose certificate is for `certified`. */
async function authorityAt(host: string, certified = host): Promise<unknown> {
  const authority = await createOtherAuthority();
  const leaf = await issueServerCertificate(authority, { ipAddresses: [certified] });
  const server = createSecureServer({ cert: leaf.certificate, key: toLoadableKey(leaf.key).reveal() });
  closings.push(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const session = connect(url, withHttp2Authority(host, { ca: authority.certificate }));
  closings.push(() => session.destroy());
  const headers = new Promise<IncomingHttpHeaders>((resolve, reject) => {
    server.once('stream', (_, received) => resolve(received));
    session.once('error', reject);
  });
  session.request({ ':path': '/' }).on('error', () => {});
  return (await headers)[':authority']?.replace(`:${port}`, '');
}

/** The system delivers packets for it to 127.0.0.1, also where the loopback has no IPv6. */
const mapped = '::ffff:7f00:1';

it('a request names its host as a URL does, with brackets around an IPv6 address', async () => {
  expect(await authorityAt('127.0.0.1')).toBe('127.0.0.1');
  expect(await authorityAt(mapped)).toBe(`[${mapped}]`);
});

it('the certificate has to be that of the IPv6 address', async () => {
  await expect(authorityAt(mapped, '::2')).rejects.toThrow(/not in the cert/);
});
