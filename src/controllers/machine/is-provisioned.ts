/** The plans whose steps run on a provisioned Machine. It returns to the plan `provision` when they are finished. */
export const isMaintenancePlan = (plan: string | undefined): boolean => plan === 'repair' || plan === 'update';

/** Whether all provisioning steps are finished. A Machine in repair or in an update is provisioned. */
export const isProvisioned = <P extends { readonly plan: string; readonly finishedAt?: string | undefined }>(
  progress: P | undefined,
): progress is P =>
  isMaintenancePlan(progress?.plan) || (progress?.plan === 'provision' && progress.finishedAt !== undefined);
