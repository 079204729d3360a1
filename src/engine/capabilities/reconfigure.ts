import type { StepContext } from '../contexts.ts';
import type { NodeHardware } from '../node.ts';

/** For platforms whose machines can get another configuration while they run. Default: they keep their first one. */
export interface ReconfigureCapability<C = unknown> {
  /** The hardware of a provisioned machine, from which its configuration is rendered. Read-only. */
  hardware(context: StepContext<C>): Promise<NodeHardware>;
}
