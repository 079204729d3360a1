import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, it } from 'vitest';
import { NodeServers } from '../../../test/talos/node-servers.ts';
import { ProviderError } from '../../lib/errors.ts';
import { talosLimits } from './limits.ts';

const nodes = new NodeServers();

/** A node that sends this much in messages like those of Talos, and then ends like this. */
async function start(bytes: number, end: () => Promise<void> | void = () => {}) {
  const state = { isCancelled: false };
  const server = await nodes.start({
    async *etcdSnapshot(_, { signal }) {
      signal.addEventListener('abort', () => (state.isCancelled = true));
      for (let at = 0; at < bytes; at += 1024) yield { bytes: Buffer.alloc(Math.min(1024, bytes - at), at / 1024) };
      await end();
    },
  });
  return { node: nodes.connect(server), state };
}

const never = () => new Promise<void>(() => {});
const take = async () => {};

describe('a reply of bytes', () => {
  it.each([0, 1, 100_000, 3 * 2 ** 20 + 5])('of %i bytes arrives whole, in few pieces', async (bytes) => {
    const { node } = await start(bytes);
    const pieces: Uint8Array[] = [];
    await node.etcdSnapshot(async (piece) => void pieces.push(Buffer.from(piece)));
    const expected = Buffer.concat(
      Array.from({ length: Math.ceil(bytes / 1024) }, (_, i) => Buffer.alloc(Math.min(1024, bytes - i * 1024), i)),
    );
    expect(Buffer.concat(pieces).equals(expected)).toBe(true);
    expect(pieces.length).toBeLessThanOrEqual(Math.ceil(bytes / 2 ** 17));
  });

  it('is read no faster than it is taken', async () => {
    let sent = 0;
    const server = await nodes.start({
      async *etcdSnapshot() {
        for (; sent < 64; sent += 1) yield { bytes: Buffer.alloc(2 ** 20) };
      },
    });
    let goOn = () => {};
    let isFirst = () => {};
    const first = new Promise<void>((resolve) => (isFirst = resolve));
    const done = nodes.connect(server).etcdSnapshot(() => {
      isFirst();
      return new Promise((resolve) => (goOn = resolve));
    });
    await first;
    for (let turn = 0; turn < 500; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toBeLessThan(32);
    nodes.closeAfterTest({ close: () => goOn() });
    done.catch(() => {});
  });

  it.each<[string, () => void, object]>([
    [
      'refuses',
      () => {
        throw new ConnectError('not authorized', Code.PermissionDenied);
      },
      {
        code: 'TALOS_PERMISSION_DENIED',
        message: expect.stringMatching(/127\.0\.0\.1, EtcdSnapshot: not authorized\.$/),
      },
    ],
    [
      'fails',
      () => {
        throw new ConnectError('etcdserver: no leader', Code.Unknown);
      },
      { code: 'TALOS_CALL_FAILED', message: expect.stringContaining('EtcdSnapshot: etcdserver: no leader.') },
    ],
  ])('of a node that %s fails with its error, before the first byte and after some', async (_, end, error) => {
    for (const bytes of [0, 5000]) {
      const { node } = await start(bytes, end);
      await expect(node.etcdSnapshot(take)).rejects.toMatchObject(error);
    }
  });

  it('of a node whose connection breaks fails as unreachable', async () => {
    const server = await nodes.start({
      async *etcdSnapshot() {
        for (let sent = 0; sent < 500; sent += 1) yield { bytes: Buffer.alloc(1024) };
        await never();
      },
    });
    const broken = nodes.connect(server).etcdSnapshot(async () => void server.close());
    await expect(broken).rejects.toMatchObject({ code: 'TALOS_UNREACHABLE' });
  });

  it('of a node that has no such call is unsupported', async () => {
    const server = await nodes.start({});
    await expect(nodes.connect(server).etcdSnapshot(take)).rejects.toMatchObject({ code: 'TALOS_UNSUPPORTED' });
  });

  it('with a message beyond the limit is rejected', async () => {
    const server = await nodes.start({
      async *etcdSnapshot() {
        yield { bytes: Buffer.alloc(talosLimits.messageBytes + 1) };
      },
    });
    await expect(nodes.connect(server).etcdSnapshot(take)).rejects.toThrow(/message size \d+ is larger than/);
  });

  it('ends with its signal, at the node as well', async () => {
    const { node, state } = await start(500_000, never);
    const controller = new AbortController();
    const ended = node.etcdSnapshot(async () => controller.abort(), { signal: controller.signal });
    await expect(ended).rejects.toThrow(/aborted/);
    await expect.poll(() => state.isCancelled).toBe(true);
  });

  it('that cannot be taken ends at the node as well, with the error of who takes it', async () => {
    const { node, state } = await start(500_000, never);
    const full = new ProviderError('S3_FAILED');
    await expect(node.etcdSnapshot(() => Promise.reject(full))).rejects.toBe(full);
    await expect.poll(() => state.isCancelled).toBe(true);
  });
});
