import type { KubeClient } from '../../kube/client/client.ts';
import type { Clock } from '../../lib/clock.ts';
import type { BundleFiles } from './bundle-files.ts';

/** The access of the collection, which only reads, and where its files go. */
export interface BundleSession {
  readonly kube: Pick<KubeClient, 'list' | 'find' | 'raw' | 'scanLines'>;
  readonly files: BundleFiles;
  readonly clock: Clock;
  /** The provider's own namespace. */
  readonly podNamespace: string;
  /** Also aborts when the time for the collection is over: what is left becomes a line of the manifest. */
  readonly signal: AbortSignal;
  /** The user has stopped the command. */
  readonly stopped: AbortSignal;
}
