import type { ConnectionUse } from '../../engine/kept-connections.ts';
import type { TalosClient } from './client.ts';

/**
 * A client of a connection that is kept after its `close`, except if the node was told to go down: it ends its connections
 * then, or comes back as another one.
 */
export function lendTalosClient({ connection: node, discard, end }: ConnectionUse<TalosClient>): TalosClient {
  const last = (call: () => Promise<void>): Promise<void> => {
    discard();
    return call();
  };
  return {
    ...node,
    reboot: (through, options) => last(() => node.reboot(through, options)),
    reset: (reset, options) => last(() => node.reset(reset, options)),
    shutdown: (shutdown, options) => last(() => node.shutdown(shutdown, options)),
    upgradeLegacy: (installer, options) => last(() => node.upgradeLegacy(installer, options)),
    close: end,
  };
}
