import type { PlatformContext } from '../contexts.ts';
import type { ObserveAllFunction } from '../observation.ts';

/** For platforms that can observe many machines at little cost. */
export interface MonitorCapability<C> {
  /**
   * Read-only. For a platform that can observe all machines of a failure domain at once: each is then observed only
   * when its fingerprint has changed.
   */
  readonly observeAll?: ObserveAllFunction<C>;
  /**
   * For a failure domain that reports changes to its machines: calls `listener`, which must not throw, after each
   * change. Returns a function that ends it. Delivery is not guaranteed: callers also observe periodically.
   */
  listen?(context: PlatformContext<C>, listener: () => void): () => void;
}
