import type { Facts } from '../step.ts';

/** A page of the platform that shows the screen of a machine. It asks for a login of its own. */
export interface ConsoleLink {
  readonly name: string;
  /** Begins with https. */
  readonly url: string;
}

/** For platforms that show consoles of machines in their web interface. */
export interface ConsoleCapability<C> {
  /** Pure. Empty while the machine does not exist. */
  links(config: C, facts: Facts): readonly ConsoleLink[];
}
