import type { TalosNode } from '../node.ts';
import { decodePem } from './pki.ts';

/** The authorities of the Talos API that the node accepts, of clients and of other nodes: its own one first. */
export function acceptedCas(node: TalosNode): string[] {
  const view = node.config?.view;
  return [view?.osCa.crt ?? '', ...(view?.acceptedCas ?? [])].filter((crt) => crt !== '').map(decodePem);
}

/** The same for Kubernetes. */
export function acceptedKubernetesCas(node: TalosNode): string[] {
  const { ca, acceptedCas: others = [] } = node.config?.view.kubernetes ?? {};
  return [ca?.crt ?? '', ...others].filter((crt) => crt !== '').map(decodePem);
}

/** Changes with the authorities of the Talos API. */
export const apiAuthoritiesOf = (node: TalosNode): string =>
  JSON.stringify([node.config?.view.osCa, node.config?.view.acceptedCas]);
