import { AccessRequest } from '../../../src/api/openmcp.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { Controller, source } from '../../../src/kube/controller.ts';
import { Reflector } from '../../../src/kube/reflector.ts';
import { keyOf } from '../../../src/kube/resource.ts';
import { type Clock, systemClock } from '../../../src/lib/clock.ts';
import type { Log } from '../../../src/lib/log.ts';
import { concernsOperator, reconcileAccessRequest } from './access-requests.ts';
import { type OperatorConfig, selectorText } from './config.ts';
import { reconcileClusterRequest } from './scheduler.ts';
import { isTrigger } from './triggers.ts';
import { ClusterRequest } from './types.ts';

export interface OperatorOptions {
  readonly client: KubeClient;
  readonly config: OperatorConfig;
  readonly log: Log;
  /** Default: the system's. */
  readonly clock?: Clock;
}

export interface RunningOperator {
  /** Resolves once both controllers know all that is there. */
  readonly synced: Promise<void>;
  close(): Promise<void>;
}

/**
 * Plays the two controllers of the openMCP operator that a provider meets: the scheduler, and the generic controller of
 * AccessRequests. The openMCP kinds must be installed.
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
      sources: [source(requests, (change) => (isTrigger(change) ? [keyOf(change.object)] : []))],
    }),
    new Controller({
      ...common,
      name: 'operator/accessrequest',
      reconcile: (key, context) => reconcileAccessRequest(client, clock, key, context),
      sources: [
        source(accesses, (change) =>
          isTrigger(change) && concernsOperator(change.object) ? [keyOf(change.object)] : [],
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
