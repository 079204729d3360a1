import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createSilentServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createTestAuthority, loadTestAuthority } from '../peers/test-authority.ts';
import { missingDocker } from '../support/docker.ts';

const folder = mkdtempSync(join(tmpdir(), 'docker-'));
const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Replies to `/_ping` like an engine, or with another status. */
async function startEngine(at: string | number, status = 200): Promise<Server> {
  const server = createServer((request, reply) => {
    reply.writeHead(request.url === '/_ping' ? status : 404).end('OK');
  });
  open.push(server);
  await new Promise<void>((resolve) =>
    typeof at === 'string' ? server.listen(at, resolve) : server.listen(at, '127.0.0.1', resolve),
  );
  return server;
}

describe('the detection of a Docker engine', () => {
  it('finds it at the socket that DOCKER_HOST names', async () => {
    const socket = join(folder, 'one.sock');
    await startEngine(socket);
    expect(await missingDocker({ DOCKER_HOST: `unix://${socket}` })).toBeUndefined();
  });

  it('finds it at an address', async () => {
    const { port } = (await startEngine(0)).address() as AddressInfo;
    expect(await missingDocker({ DOCKER_HOST: `tcp://127.0.0.1:${port}` })).toBeUndefined();
  });

  it('finds it at the socket of a user', async () => {
    const socket = join(folder, 'docker.sock');
    await startEngine(socket);
    expect(await missingDocker({}, ['/nowhere/docker.sock', socket])).toBeUndefined();
    expect(await missingDocker({ XDG_RUNTIME_DIR: folder })).toBeUndefined();
  });

  it.each([
    ['nobody listens', 'unix:///nowhere/docker.sock'],
    ['it is no address', 'somewhere'],
    ['nobody listens at a port', 'tcp://127.0.0.1:9'],
  ])('reports it as missing when %s', async (_, address) => {
    expect(await missingDocker({ DOCKER_HOST: address }, [])).toMatch(/^No Docker engine answers at .*DOCKER_HOST\.$/);
  });

  it('reports it as missing when another server answers', async () => {
    const socket = join(folder, 'other.sock');
    await startEngine(socket, 503);
    expect(await missingDocker({ DOCKER_HOST: `unix://${socket}` }, [])).toContain(socket);
  });

  it('reports it as missing within seconds when there is no response', async () => {
    const socket = join(folder, 'silent.sock');
    const server = createSilentServer();
    open.push(server);
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    expect(await missingDocker({ DOCKER_HOST: `unix://${socket}` }, [])).toContain(socket);
  });
});

it('a loaded certificate authority signs like the created one', async () => {
  const own = await createTestAuthority('clients');
  // k3s stores the same format: a certificate and its key, both PEM.
  const { cert, key } = await own.client('ca', []);
  const loaded = await loadTestAuthority(cert, key);
  const leaf = new X509Certificate((await loaded.client('jane', ['testers'])).cert);
  expect(leaf.subject).toBe('O=testers\nCN=jane');
  expect(leaf.verify(new X509Certificate(cert).publicKey)).toBe(true);
  expect(leaf.issuer).toBe('CN=ca');
});
