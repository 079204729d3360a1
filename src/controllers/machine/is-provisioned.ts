/** Whether all provisioning steps are finished. A Machine in repair is provisioned. */
export const isProvisioned = <P extends { readonly plan: string; readonly finishedAt?: string | undefined }>(
  progress: P | undefined,
): progress is P =>
  progress?.plan === 'repair' || (progress?.plan === 'provision' && progress.finishedAt !== undefined);
