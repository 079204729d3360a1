import { AccessRequest } from '../../../src/api/openmcp/types.ts';
import type { KubeClient } from '../../../src/kube/client/client.ts';
import { Controller, createKeySource } from '../../../src/kube/controller/controller.ts';
import { Reflector } from '../../../src/kube/reflector/reflector.ts';
import { objectKeyOf } from '../../../src/kube/resource.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import type { Log } from '../../../src/lib/log.ts';
import { concernsOperator, reconcileGenericAccessRequest } from './access-requests.ts';
import { ClusterRequest } from './cluster-request.ts';
import { type OperatorConfig, selectorText } from './config.ts';
import { triggersReconcile } from './event-filter.ts';
import { reconcileClusterRequest } from './scheduler.ts';

export interface OperatorOptions {
  readonly client: KubeClient;
  readonly config: OperatorConfig;
  readonly log: Log;
  /** Default: the system's. */
  readonly clock?: Clock;
}

export interface RunningOperator {
  /** Resolves once both controllers have their initial lists. */
  readonly synced: Promise<void>;
  close(): Promise<void>;
}

/**
 * Simulates the two controllers of the openMCP operator that a provider meets: the scheduler, and the generic
 * controller of AccessRequests. The openMCP kinds must be installed.
 */
export function startOperator({ client, config, log, clock = systemClock }: OperatorOptions): RunningOperator {
  const stopping = new AbortController();
  const common = { clock, log };
  const { selectors } = config.scheduler;
  const requests = new Reflector(client, ClusterRequest, {
    ...common,
    labelSelector: selectorText(selectors.requests),
  });
  const accesses = new Reflector(client, AccessRequest, {
    ...common,
    labelSelector: selectorText(config.accessRequest.selector),
  });
  const controllers = [
    new Controller({
      ...common,
      name: 'operator/scheduler',
      // One at a time: two requests must not both find a shared Cluster missing.
      concurrency: 1,
      reconcile: (key, context) => reconcileClusterRequest(client, config.scheduler, key, context),
      sources: [createKeySource(requests, (change) => (triggersReconcile(change) ? [objectKeyOf(change.object)] : []))],
    }),
    new Controller({
      ...common,
      name: 'operator/accessrequest',
      reconcile: (key, context) => reconcileGenericAccessRequest(client, clock, key, context),
      sources: [
        createKeySource(accesses, (change) =>
          triggersReconcile(change) && concernsOperator(change.object) ? [objectKeyOf(change.object)] : [],
        ),
      ],
    }),
  ];
  const running = [...[requests, accesses], ...controllers].map((part) => part.start(stopping.signal));
  return {
    synced: Promise.all([requests.synced, accesses.synced]).then(() => undefined),
    close: async () => {
      stopping.abort();
      await Promise.allSettled(running);
    },
  };
}
