import { describe, expect, it } from 'vitest';
import type { Facts, StepOutcome } from '../engine/step.ts';
import { ProviderError } from '../lib/errors.ts';
import { noLog } from '../lib/log.ts';
import type { TalosClient } from './client/client.ts';
import type { NodeMachineStatus } from './client/node-calls.ts';
import type { TalosResourceKind } from './client/resources.ts';
import { describeNodeStatus, joinSteps, leaveEtcd, type TalosStepContext } from './join-steps.ts';

const status = (
  stage: NodeMachineStatus['stage'],
  ready: boolean,
  unmet: Record<string, string> = {},
): NodeMachineStatus => ({
  stage,
  ready,
  unmetConditions: Object.entries(unmet).map(([name, reason]) => ({ name, reason })),
});

interface Node {
  readonly status?: NodeMachineStatus;
  readonly installed?: boolean;
  readonly error?: Error;
  readonly config?: string;
}

async function run(
  step: string,
  node: Node,
  facts: Facts = { address: '192.0.2.7' },
): Promise<StepOutcome & { closed: boolean }> {
  let closed = !('address' in facts);
  const answer = async <T>(value: T): Promise<T> => {
    if (node.error) throw node.error;
    return value;
  };
  const client = {
    version: () => answer({ version: '1.13.9', platform: 'nocloud' }),
    machineStatus: () => answer(node.status),
    findResource: ({ type }: TalosResourceKind) =>
      answer(type.startsWith('MachineConfigs') ? { spec: node.config } : node.installed && { id: 'system-disk' }),
    close: () => {
      closed = true;
    },
  } as never as TalosClient;
  const context = { facts, log: noLog, openTalos: () => client, signal: new AbortController().signal };
  const found = joinSteps.find(({ name }) => name === step);
  if (!found) throw new Error(`no step ${step}`);
  const outcome = await found.run(context as never as TalosStepContext);
  return { ...outcome, closed };
}

describe('the join steps of a node', () => {
  it('have stable names, which are stored', () => {
    expect(joinSteps.map(({ name }) => name)).toEqual(['await-talos-api', 'await-installation', 'await-member']);
    for (const step of joinSteps) expect(step.erases).toBeUndefined();
  });

  it.each(joinSteps.map(({ name }) => name))(
    '%s waits for a node that is silent, not ours yet or not ready, and closes its client',
    async (step) => {
      for (const code of ['TALOS_UNREACHABLE', 'TALOS_FOREIGN_NODE', 'TALOS_NOT_READY'] as const) {
        const error = new ProviderError(code, '192.0.2.7: why.');
        expect(await run(step, { error })).toMatchObject({ kind: 'wait', message: error.message, closed: true });
      }
    },
  );

  it('T39: report the required DHCP reservation for a silent node with a DHCP address', async () => {
    const facts = { address: '192.0.2.7', mac: '02:00:00:00:00:07', assignment: 'DHCP' };
    const unresponsive = { error: new ProviderError('TALOS_UNREACHABLE', '192.0.2.7: no answer.') };
    expect(await run('await-talos-api', unresponsive, facts)).toMatchObject({
      ...{ kind: 'wait', reason: 'NotAtReservedAddress' },
      message: expect.stringMatching(/no answer\. A DHCP server must assign 192\.0\.2\.7 .*02:00:00:00:00:07\./),
    });
    const busy = { error: new ProviderError('TALOS_NOT_READY', 'busy.') };
    expect(await run('await-talos-api', busy, facts)).not.toHaveProperty('reason');
    expect(await run('await-talos-api', unresponsive)).not.toHaveProperty('reason');
  });

  it('pass an unexpected error to the engine', async () => {
    await expect(run('await-member', { error: new TypeError('bug') })).rejects.toThrow('bug');
    const denied = new ProviderError('TALOS_PERMISSION_DENIED');
    await expect(run('await-talos-api', { error: denied })).rejects.toBe(denied);
  });

  it('fail with a reason when no platform reported the address of the node', async () => {
    expect(await run('await-talos-api', {}, {})).toMatchObject({ kind: 'fail', reason: 'AddressUnknown' });
  });

  it('start when the API answers over mTLS', async () => {
    expect(await run('await-talos-api', {})).toMatchObject({ kind: 'done', closed: true });
  });

  it.each([
    ['its own', 'truenas://nas/one', 'done'],
    ['that of a machine that was given up and still runs', 'truenas://former/one', 'wait'],
    ['none, because it was edited by hand', undefined, 'done'],
  ])('compare the provider id in the configuration: %s', async (_, found, kind) => {
    const config = `machine:\n  kubelet:\n    extraArgs: ${found === undefined ? '{}' : `{ provider-id: '${found}' }`}\n`;
    const facts = { address: '192.0.2.7', providerId: 'truenas://nas/one' };
    expect(await run('await-talos-api', { config }, facts)).toMatchObject({ kind });
  });

  it.each([
    ['still installing, although it reports ready', { status: status('installing', true) }, 'wait'],
    ['rebooting, although it reports ready', { status: status('rebooting', true), installed: true }, 'wait'],
    ['booting from its ISO', { status: status('booting', false), installed: false }, 'wait'],
    ['booting from its disk', { status: status('booting', false), installed: true }, 'done'],
    ['running from its disk', { status: status('running', true), installed: true }, 'done'],
  ] as const)('detect whether a node is installed: %s', async (_, node, kind) => {
    expect(await run('await-installation', node)).toMatchObject({ kind });
  });

  it.each([
    ['in maintenance mode, although ready', status('maintenance', true), 'wait'],
    ['installing, although ready', status('installing', true), 'wait'],
    ['booting', status('booting', false, { services: 'etcd not running' }), 'wait'],
    ['running without a Pod network', status('running', false, { nodeReady: 'node is not ready' }), 'wait'],
    ['running and ready', status('running', true), 'done'],
  ] as const)('detect whether a node is a member: %s', async (_, one, kind) => {
    const outcome = await run('await-member', { status: one });
    expect(outcome).toMatchObject(kind === 'done' ? { kind, facts: { joined: true } } : { kind });
  });
});

describe('the status message of a node', () => {
  it.each([
    [
      status('booting', false, { services: 'etcd not running', time: '' }),
      'The node is booting with unmet conditions: services (etcd not running), time.',
    ],
    [status('shutting down', true), 'The node is shutting down.'],
    [status('running', false), 'The node is running and not ready.'],
    [status('maintenance', true), 'The node waits for a configuration.'],
    [status('unknown', false), 'The node has just started.'],
  ])('%o', (one, sentence) => {
    expect(describeNodeStatus(one)).toBe(sentence);
  });
});

describe('the removal of a control plane from etcd', () => {
  const etcd = (ids: string[], own: string) => {
    const calls: string[] = [];
    const client = {
      etcdMembers: async () => ids.map((id) => ({ id, name: id, peerUrls: [], learner: false })),
      etcdStatus: async () => ({ memberId: own }),
      forfeitLeadership: async () => void calls.push('forfeit'),
      leaveEtcd: async () => void calls.push('leave'),
    } as never as TalosClient;
    return { calls, client };
  };

  it('transfers the leadership first', async () => {
    const { calls, client } = etcd(['a', 'b', 'c'], 'b');
    expect(await leaveEtcd(client)).toBe(true);
    expect(calls).toEqual(['forfeit', 'leave']);
  });

  it.each([
    ['the only member, which cannot leave', ['a'], 'a'],
    ['a former member', ['a', 'b'], 'c'],
  ])('does nothing to %s', async (_, ids, own) => {
    const { calls, client } = etcd(ids, own);
    expect(await leaveEtcd(client)).toBe(false);
    expect(calls).toEqual([]);
  });
});
