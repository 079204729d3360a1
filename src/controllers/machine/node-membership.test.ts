import { describe, expect, it } from 'vitest';
import { aMachine } from '../../../test/support/fixtures/builders.ts';
import type { Condition } from '../../api/conditions.ts';
import type { Machine } from '../../api/machine.ts';
import { endpointNames } from '../../api/openmcp/types.ts';
import { KubeError } from '../../kube/errors.ts';
import { ProviderError } from '../../lib/errors.ts';
import type { TalosClient } from '../../talos/client/client.ts';
import type { Services } from '../shared/services.ts';
import { nodeMembershipOf } from './node-membership.ts';

const condition = (status: Condition['status']): Condition => ({
  ...{ type: 'Joined', status, reason: 'AsExpected', message: '', lastTransitionTime: '2026-11-23T10:00:00Z' },
});
const member = (status: Condition['status'], facts: Record<string, string>) =>
  nodeMembershipOf({} as Services, aMachine(0, [condition(status)], 'work'), facts, AbortSignal.timeout(5000));

describe('the word of its cluster is enough', () => {
  it.each([
    ['for a member in the run that it was seen in', 'True', { memberInRun: '7' }, '7', true],
    ['not after another start', 'True', { memberInRun: '7' }, '8', false],
    ['not for one that was missed', 'False', { memberInRun: '7' }, '7', false],
    ['not for one that was never a member', 'Unknown', {}, '7', false],
    ['for a member from before runs were written down', 'True', {}, '7', true],
    ['for a member whose platform cannot tell runs', 'True', { memberInRun: '7' }, undefined, true],
  ] as const)('%s', (_, status, facts, run, isKnown) => {
    expect(member(status, facts).isKnown(run)).toBe(isKnown);
  });

  it('again for the run that was written down', () => {
    const { note } = member('False', {});
    expect(member('True', { ...note('9') } as Record<string, string>).isKnown('9')).toBe(true);
    expect(note(undefined)).toEqual({});
  });
});

describe('of a node that says that it is ready', () => {
  const talos = { bootId: () => Promise.resolve('this-boot') } as unknown as TalosClient;
  /** `node`: what the cluster has of it, or why it says nothing. */
  const why = (
    node: unknown,
    machine: Machine = aMachine(0, [], 'work'),
    status: object = { endpoints: [{ name: endpointNames.external, url: 'https://x' }] },
  ) => {
    const find = () => (node instanceof Error ? Promise.reject(node) : Promise.resolve(node));
    const silent = () => Promise.reject(new ProviderError('TALOS_UNREACHABLE', '192.168.10.21 (ECONNREFUSED).'));
    const services = {
      stores: { clusters: { get: () => ({ metadata: machine.spec.clusterRef, status }) } },
      targets: {
        client: () => Promise.resolve({ find }),
        talos: () => ({ etcdStatus: silent, close: () => Promise.resolve() }),
      },
    } as unknown as Services;
    return nodeMembershipOf(services, machine, { address: '192.168.10.21' }, AbortSignal.timeout(5000)).whyNotSeen(
      talos,
    );
  };
  const booted = (bootID: string) => ({ status: { nodeInfo: { bootID } } });

  it('the cluster knows of this boot', async () => {
    expect(await why(booted('this-boot'))).toBeUndefined();
  });

  it.each([
    ['of an earlier boot', booted('an-earlier-boot'), /has not told its cluster of this boot yet/],
    ['of no boot', {}, /has not told its cluster of this boot yet/],
    ['of no node', undefined, /has no Node of its name/],
    [
      'nothing',
      new KubeError({
        status: 0,
        reason: 'Unreachable',
        message: 'GET /x: no answer',
        causes: [],
        details: {},
      } as never),
      /does not say whether it knows of this boot/,
    ],
  ])('the cluster knows %s', async (_, node, words) => {
    expect(await why(node)).toMatch(words);
  });

  it('its own etcd member and API server have to be seen where it is a control plane', async () => {
    expect(await why(booted('this-boot'), aMachine(0))).toMatch(/^The node runs, but .*ECONNREFUSED/);
  });

  it('nothing was told of an earlier boot while the cluster has no address yet', async () => {
    expect(await why(booted('an-earlier-boot'), aMachine(0, [], 'work'), {})).toBeUndefined();
  });
});
