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

describe('the Ready condition in the cluster is sufficient', () => {
  it.each([
    ['for a member in the run of its observation', 'True', { memberInRun: '7' }, '7', true],
    ['not after another start', 'True', { memberInRun: '7' }, '8', false],
    ['not for a missed member', 'False', { memberInRun: '7' }, '7', false],
    ['not for a node that never joined', 'Unknown', {}, '7', false],
    ['for a member from before runs were recorded', 'True', {}, '7', true],
    ['for a member whose platform does not know runs', 'True', { memberInRun: '7' }, undefined, true],
  ] as const)('%s', (_, status, facts, run, isKnown) => {
    expect(member(status, facts).isKnown(run)).toBe(isKnown);
  });

  it('again for the recorded run', () => {
    const { record } = member('False', {});
    expect(member('True', { ...record('9') } as Record<string, string>).isKnown('9')).toBe(true);
    expect(record(undefined)).toEqual({});
  });
});

describe('for a Ready node', () => {
  const talos = { bootId: () => Promise.resolve('this-boot') } as unknown as TalosClient;
  /** `node`: the Node in the cluster, or the error of the request. */
  const why = (
    node: unknown,
    machine: Machine = aMachine(0, [], 'work'),
    status: object = { endpoints: [{ name: endpointNames.external, url: 'https://x' }] },
  ) => {
    const find = () => (node instanceof Error ? Promise.reject(node) : Promise.resolve(node));
    const unresponsive = () => Promise.reject(new ProviderError('TALOS_UNREACHABLE', '192.168.10.21 (ECONNREFUSED).'));
    const services = {
      stores: { clusters: { get: () => ({ metadata: machine.spec.clusterRef, status }) } },
      targets: {
        client: () => Promise.resolve({ find }),
        talos: () => ({ etcdStatus: unresponsive, close: () => Promise.resolve() }),
      },
    } as unknown as Services;
    return nodeMembershipOf(services, machine, { address: '192.168.10.21' }, AbortSignal.timeout(5000)).whyNotObserved(
      talos,
    );
  };
  const booted = (bootID: string) => ({ status: { nodeInfo: { bootID } } });

  it('the cluster has the current boot id', async () => {
    expect(await why(booted('this-boot'))).toBeUndefined();
  });

  it.each([
    ['an earlier boot id', booted('an-earlier-boot'), /has not registered this boot in its cluster yet/],
    ['no boot id', {}, /has not registered this boot in its cluster yet/],
    ['no Node', undefined, /has no Node of its name/],
    [
      'no answer',
      new KubeError({
        status: 0,
        reason: 'Unreachable',
        message: 'GET /x: no answer',
        causes: [],
        details: {},
      } as never),
      /its Node object cannot be read/,
    ],
  ])('the cluster has %s', async (_, node, text) => {
    expect(await why(node)).toMatch(text);
  });

  it('its own etcd member and API server must be observed on a control plane', async () => {
    expect(await why(booted('this-boot'), aMachine(0))).toMatch(/^The node runs, but .*ECONNREFUSED/);
  });

  it('there is no earlier boot while the cluster has no endpoint', async () => {
    expect(await why(booted('an-earlier-boot'), aMachine(0, [], 'work'), {})).toBeUndefined();
  });
});
