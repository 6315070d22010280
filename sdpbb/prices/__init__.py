"""What each constraint costs."""
