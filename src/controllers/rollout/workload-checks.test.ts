import { describe, expect, it } from 'vitest';
import type { WorkloadCheck } from '../../api/schema/rollout-schema.ts';
import type { KubeClient } from '../../kube/client/client.ts';
import { KubeError } from '../../kube/errors.ts';
import { findWorkloadProblem } from './workload-checks.ts';

const check = (kind: WorkloadCheck['kind']): WorkloadCheck => ({ kind, namespace: 'shop', name: 'web' });
const find = async (kind: WorkloadCheck['kind'], answer: object | Error | undefined) => {
  const client = {
    find: async () => {
      if (answer instanceof Error) throw answer;
      return answer;
    },
  } as unknown as KubeClient;
  return await findWorkloadProblem(client, [check(kind)], new AbortController().signal);
};
const workload = (spec: object, status: object) => ({ metadata: { name: 'web', generation: 2 }, spec, status });

describe('D29: a workload that users want to see available', () => {
  it.each<[WorkloadCheck['kind'], object, object]>([
    ['Deployment', { replicas: 2 }, { observedGeneration: 2, availableReplicas: 2 }],
    ['Deployment', { replicas: 0 }, { observedGeneration: 2 }],
    ['StatefulSet', {}, { observedGeneration: 2, availableReplicas: 1 }],
    ['DaemonSet', {}, { observedGeneration: 2, desiredNumberScheduled: 3, numberAvailable: 3 }],
  ])('is: a %s with %j and %j', async (kind, spec, status) => {
    expect(await find(kind, workload(spec, status))).toBeUndefined();
  });

  it.each<[WorkloadCheck['kind'], object | Error | undefined, RegExp]>([
    [
      'Deployment',
      workload({ replicas: 2 }, { observedGeneration: 2, availableReplicas: 1 }),
      /^Deployment shop\/web has 1 of 2 Pods available\.$/,
    ],
    ['StatefulSet', workload({}, { observedGeneration: 2 }), /has 0 of 1 Pods available/],
    [
      'DaemonSet',
      workload({}, { observedGeneration: 2, desiredNumberScheduled: 3, numberAvailable: 2 }),
      /has 2 of 3 Pods available/,
    ],
    ['Deployment', workload({ replicas: 1 }, { observedGeneration: 1, availableReplicas: 1 }), /has just changed/],
    ['Deployment', undefined, /of spec\.rollout\.healthChecks does not exist/],
    ['Deployment', new KubeError({ status: 503, reason: 'Unavailable', message: 'away' }), /could not be checked/],
  ])('is not: %s', async (kind, answer, message) => {
    expect(await find(kind, answer)).toMatch(message);
  });
});
