import { apiAuthoritiesOf } from '../certificates/accepted-authorities.ts';
import type { TalosNode } from '../node.ts';

/**
 * Renews what follows from the authorities of the Talos API when another configuration is activated. Open connections stay
 * (talos: controllers/secrets/api.go, internal/app/apid/pkg/provider).
 */
export function followAuthorities(node: TalosNode, renew: () => Promise<void>): void {
  let last = apiAuthoritiesOf(node);
  let pending = Promise.resolve();
  const stop = node.onConfig(() => {
    if (!node.config || apiAuthoritiesOf(node) === last) return;
    last = apiAuthoritiesOf(node);
    pending = pending.then(() => (node.signal.aborted ? undefined : renew()));
    node.spawn('certificates of the Talos API', () => pending);
  });
  node.onClose(stop);
}
