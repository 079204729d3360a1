import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { ConnectRouter } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import {
  createOtherAuthority,
  issueServerCertificate,
  startTalosNodeServer,
  type TalosNodeServer,
} from '../../../test/talos/node-server.ts';
import { failureOf, NodeServers } from '../../../test/talos/node-servers.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { MachineService } from '../gen/machine_pb.ts';
import { openInsecureClient } from './client.ts';
import { identifyPeer } from './peer-identity.ts';

const nodes = new NodeServers();

describe('the connection', () => {
  it('is shared by all calls, and is opened again after the node was unreachable', async () => {
    const machine = { version: () => ({ messages: [{ version: { tag: 'v1.13.9' } }] }) };
    const server = await nodes.start(machine);
    const talos = nodes.connect(server);
    await Promise.all([talos.version(), talos.version(), talos.version()]);
    await talos.version();
    expect(server.sessions.size).toBe(1);
    await server.close();
    expect((await failureOf(talos.version())).code).toBe('TALOS_UNREACHABLE');
    await nodes.start(machine, {}, server.port);
    expect((await talos.version()).version).toBe('1.13.9');
  });

  it('is closed when the node falls silent, so that the next call does not wait for it too', async () => {
    let unresponsive = true;
    const server = await nodes.start({
      version: async (_, { signal }) => {
        if (unresponsive) await once(signal, 'abort');
        return { messages: [{}] };
      },
    });
    // Enough time for a handshake on a busy machine.
    const talos = nodes.connect(server, 1);
    expect((await failureOf(talos.version())).code).toBe('TALOS_UNREACHABLE');
    await expect.poll(() => server.sessions.size).toBe(0);
    unresponsive = false;
    await talos.version({});
    expect(server.sessions.size).toBe(1);
  });

  it('fails at the deadline when the handshake does not complete', async () => {
    const sockets: Socket[] = [];
    const unresponsive = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(unresponsive, 'listening');
    nodes.closeAfterTest(unresponsive);
    nodes.closeAfterTest({ close: () => sockets.forEach((socket) => void socket.destroy()) });
    const port = (unresponsive.address() as AddressInfo).port;
    expect((await failureOf(nodes.connect({ port }, 0.1).version())).code).toBe('TALOS_UNREACHABLE');
    expect(await identifyPeer('127.0.0.1', { ca: nodes.credentials.ca, port, deadlineSeconds: 0.1 })).toBe(
      'unreachable',
    );
  });

  it("fails with the reason of the caller's signal", async () => {
    const server = await nodes.start({
      version: (_, { signal }) => once(signal, 'abort').then(() => ({ messages: [] })),
    });
    const stop = new AbortController();
    const call = failureOf(nodes.connect(server).version({ signal: stop.signal }));
    await expect.poll(() => server.sessions.size).toBe(1);
    stop.abort(new Error('shutting down'));
    expect((await call).message).toBe('shutting down');
    expect((await failureOf(nodes.connect(server).version({ signal: stop.signal }))).message).toBe('shutting down');
  });

  it('is gone after close', async () => {
    const server = await nodes.start({ version: () => ({ messages: [{}] }) });
    const talos = nodes.connect(server);
    await talos.version();
    await talos.close();
    await expect.poll(() => server.sessions.size).toBe(0);
    expect((await failureOf(talos.version())).message).toContain('was closed');
  });
});

describe('a node in maintenance mode', () => {
  async function maintenance(): Promise<TalosNodeServer> {
    const own = await issueServerCertificate(await createOtherAuthority(), {
      commonName: 'maintenance-service.talos.dev',
    });
    const routes = (router: ConnectRouter) =>
      router.service(MachineService, { applyConfiguration: () => ({ messages: [{ warnings: [] }] }) });
    const server = await startTalosNodeServer(routes, { leaf: own });
    nodes.closeAfterTest(server);
    return server;
  }

  it('accepts a configuration from an unauthenticated client', async () => {
    const { port } = await maintenance();
    const talos = nodes.closeAfterTest(openInsecureClient({ address: '127.0.0.1', port }));
    expect(await talos.applyConfiguration(new SecretString('x'), 'auto')).toEqual([]);
  });

  it('is distinguished from a node of the cluster and from a foreign node by its certificate alone', async () => {
    const read = (port: number) => identifyPeer('127.0.0.1', { ca: nodes.credentials.ca, port });
    const foreign = await startTalosNodeServer(() => {}, {
      leaf: await issueServerCertificate(await createOtherAuthority()),
    });
    nodes.closeAfterTest(foreign);
    const ours = await nodes.start({});
    expect(await read((await maintenance()).port)).toBe('maintenance');
    expect(await read(ours.port)).toBe('ours');
    expect(await read(foreign.port)).toBe('foreign');
    await ours.close();
    expect(await read(ours.port)).toBe('unreachable');
  });
});
