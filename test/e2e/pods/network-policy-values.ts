import type { RealPods } from '../../peers/pods/real-pods.ts';
import { simulatorPorts } from './simulators-beside.ts';

/** The namespace that may read metrics. */
export const scrapers = 'monitoring';

/**
 * The values of the chart for a NetworkPolicy, as a flag of helm: API server and simulators have ports of their own, and
 * metrics are for one namespace.
 */
export async function networkPolicyValues({ kubectl }: RealPods): Promise<string> {
  const path = 'jsonpath={.ports[0].port}';
  const apiServer = Number(await kubectl('get', 'endpointslice', 'kubernetes', '--namespace=default', '-o', path));
  const ports = Object.values(simulatorPorts).map((port) => ({ port, protocol: 'TCP' }));
  const values = {
    enabled: true,
    ingressFrom: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': scrapers } } }],
    egressPorts: { platformApiServer: [443, apiServer] },
    extraEgress: [{ ports }],
  };
  return `--set-json=networkPolicy=${JSON.stringify(values)}`;
}
