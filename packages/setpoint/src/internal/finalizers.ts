/** Finalizers that are the collector's own. */

/** It goes once all blocking dependents are gone. */
export const foregroundFinalizer = "foregroundDeletion"
