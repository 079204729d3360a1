import { describe, expect, it } from 'vitest';
import { type ErrorCode, ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from './client.ts';
import { createClusterNodeClient } from './cluster-node-client.ts';

/** A node that runs `work` for every call. */
function aNode(work: () => void, signal = new AbortController().signal) {
  const seen: string[] = [];
  const act = (name: string) => async (): Promise<void> => {
    seen.push(name);
    work();
  };
  const client = {
    version: act('version'),
    reboot: (through: string) => act(`reboot ${through}`)(),
    close: async () => void seen.push('close'),
  } as unknown as TalosClient;
  return { node: createClusterNodeClient(() => client, signal), seen };
}
const throwing = (code: ErrorCode) => (): never => {
  throw new ProviderError(code);
};

describe('a node of the cluster', () => {
  it('answers, and restarts through its firmware; no connection is left open', async () => {
    const { node, seen } = aNode(() => {});
    expect(await node.answers()).toBe(true);
    await node.restart();
    expect(seen).toEqual(['version', 'close', 'reboot firmware', 'close']);
  });

  it.each<ErrorCode>(['TALOS_UNREACHABLE', 'TALOS_FOREIGN_NODE', 'TALOS_PERMISSION_DENIED'])(
    'does not answer with %s, and rejects the restart',
    async (code) => {
      const { node } = aNode(throwing(code));
      expect(await node.answers()).toBe(false);
      await expect(node.restart()).rejects.toMatchObject({ code });
    },
  );

  it('does not answer when the secrets of the cluster are missing', async () => {
    const node = createClusterNodeClient(throwing('CLUSTER_SECRETS_MISSING'), new AbortController().signal);
    expect(await node.answers()).toBe(false);
    await expect(node.restart()).rejects.toMatchObject({ code: 'CLUSTER_SECRETS_MISSING' });
  });

  it('does not count as silent when this process shuts down', async () => {
    const stop = new AbortController();
    stop.abort(new ProviderError('TALOS_UNREACHABLE', 'it ends'));
    const { node } = aNode(throwing('TALOS_UNREACHABLE'), stop.signal);
    await expect(node.answers()).rejects.toBe(stop.signal.reason);
  });

  it('passes on a program error', async () => {
    const { node } = aNode(() => {
      throw new TypeError('ours');
    });
    await expect(node.answers()).rejects.toThrow('ours');
  });
});
