import type { ConsoleLink } from '../../../../engine/capabilities/console.ts';
import type { Facts } from '../../../../engine/step.ts';
import { systemEndpointOf, type TrueNasConfig } from '../../config/config.ts';

/** The pages of the web interface for a virtual machine: its serial shell, and the list with the button of its display. */
export function consoleLinks(config: Pick<TrueNasConfig, 'url'>, facts: Facts): readonly ConsoleLink[] {
  const { vmId, display } = facts;
  if (typeof vmId !== 'number') return [];
  const pages = `https://${systemEndpointOf(config).host}/ui/vm`;
  return [
    { name: 'Serial console', url: `${pages}/${vmId}/serial` },
    ...(display === true ? [{ name: 'Display (VNC or SPICE)', url: pages }] : []),
  ];
}
